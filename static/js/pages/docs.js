// The page /docs: Swagger UI draws the description of the API. `validatorUrl` would ask another server.

const place = document.querySelector("#api");
const dark = matchMedia("(prefers-color-scheme: dark)");
const follow = () => document.documentElement.classList.toggle("dark-mode", dark.matches);

dark.addEventListener("change", follow);
follow();
SwaggerUIBundle({ domNode: place, url: place.dataset.description, validatorUrl: null, deepLinking: true });
