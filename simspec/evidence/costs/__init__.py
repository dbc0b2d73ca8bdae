"""What does a round of κ drafts cost, from measurements?"""
