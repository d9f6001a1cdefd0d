"""Who is here: users and visitors, by their cookies."""
