"""Work that outlives a request (SPEC R18). The row that needs work is the job; these modules claim it and do it."""
