"""whole_range"""
