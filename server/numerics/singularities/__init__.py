"""singularities"""
