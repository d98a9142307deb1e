"""Find in sentences what happens in a story: threads, changes of state, where and when it plays."""
