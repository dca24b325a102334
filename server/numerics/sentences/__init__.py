"""sentences"""
