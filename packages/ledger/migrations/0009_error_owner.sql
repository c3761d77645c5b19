-- Who has said "I am on it" of an open error.
ALTER TABLE millrace.errors ADD COLUMN owner text;
