package file

// Release implements backend.Releaser: it closes the file of a log that no other goroutine is writing.
func (b *Backend) Release(name string) error {
	b.mu.Lock()
	w := b.writers[name]
	if w == nil || w.users.Load() != 0 {
		b.mu.Unlock()
		return nil
	}
	delete(b.writers, name)
	b.mu.Unlock()
	return w.retire()
}
