"""What tests are made with: servers, browsers, workers, requests. Functions to be judged lie in tests/functions."""
