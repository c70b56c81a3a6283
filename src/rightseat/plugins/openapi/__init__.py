"""API documents as operations: OpenAPI 3.0 and 3.1, Swagger 2.0, and what people write in their names."""
