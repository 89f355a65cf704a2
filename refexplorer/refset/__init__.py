"""The opened set as columns and arithmetic, and questions to it."""
