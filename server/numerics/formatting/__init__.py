"""formatting"""
