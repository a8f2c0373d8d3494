"""The service over HTTP: thin routes under /v1, which check form and rights and leave the rest to the service."""
