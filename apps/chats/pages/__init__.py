"""Read and render the data of the chat pages."""
