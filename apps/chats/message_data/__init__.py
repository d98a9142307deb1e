"""Read and change the namespaced data that programs store with messages, such as recaps."""
