try shoal --version
