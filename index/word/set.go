package word

// Set is a set of hashes that are not 0.
type Set struct {
	slots []uint64
	n     int
}

// Has checks only one slot: true means that the key is in the set; after false, Add must be called.
func (k *Set) Has(key uint64) bool {
	return len(k.slots) > 0 && k.slots[key&uint64(len(k.slots)-1)] == key
}

// Add adds a key, and reports whether it is new.
func (k *Set) Add(key uint64) bool {
	if key == 0 { // an empty slot
		key = 1
	}
	if 2*k.n >= len(k.slots) {
		k.grow()
	}
	mask := uint64(len(k.slots) - 1)
	for i := key & mask; ; i = (i + 1) & mask {
		switch k.slots[i] {
		case key:
			return false
		case 0:
			k.slots[i] = key
			k.n++
			return true
		}
	}
}

// Slots returns the table, whose length is a power of two, for loops that check one slot for each key as Has does.
func (k *Set) Slots() []uint64 {
	if len(k.slots) == 0 {
		k.grow()
	}
	return k.slots
}

// Len returns the number of keys.
func (k *Set) Len() int { return k.n }

// List returns the keys in no particular order.
func (k *Set) List() []uint64 {
	list := make([]uint64, 0, k.n)
	for _, key := range k.slots {
		if key != 0 {
			list = append(list, key)
		}
	}
	return list
}

func (k *Set) grow() {
	old := k.slots
	k.slots, k.n = make([]uint64, max(2*len(old), 1<<12)), 0
	for _, key := range old {
		if key != 0 {
			k.Add(key)
		}
	}
}

// Clear empties the set. A large table is released if few keys used it, since clearing it each time is slow.
func (k *Set) Clear() {
	if k.n < 1<<14 && len(k.slots) > 1<<16 {
		k.slots = nil
	}
	clear(k.slots)
	k.n = 0
}
