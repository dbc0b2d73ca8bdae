"""What is one engine's acceptance figure in another's words?"""
