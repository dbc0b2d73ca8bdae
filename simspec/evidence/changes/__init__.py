"""Where along a log does acceptance change, and by how much?"""
