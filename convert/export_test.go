package convert

// SetMore sets the bound of the work until the function that it gives is called.
func SetMore(n int) (back func()) {
	before := more
	more = n
	return func() { more = before }
}
