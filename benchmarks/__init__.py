"""Side by side with peers: the same data, the same threads, fresh processes, interleaved; see README.md."""
