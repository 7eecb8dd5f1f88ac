import Testing

@testable import UsherDaemon

@Suite("LRU cache")
struct LRUCacheTests {
  private var cache = LRUCache<Int, String>()

  private mutating func insert(_ keys: some Sequence<Int>, capacity: Int) -> [Int] {
    for key in keys { cache.insert("value \(key)", as: key, capacity: capacity) }
    return cache.takeEvicted().flatMap(\.keys)
  }

  @Test("the LRU cache never exceeds its capacity", arguments: [2, 3, 8, 9])
  mutating func capacity(_ capacity: Int) {
    for key in 0..<100 {
      _ = insert([key], capacity: capacity)
      #expect(cache.count <= capacity)
      // A use does not exceed the capacity either.
      _ = cache.use(key / 2, capacity: capacity)
      #expect(cache.count <= capacity)
    }
  }

  @Test("half of the LRU cache keeps the entries used last, whatever is added")
  mutating func last() {
    _ = insert(0..<4, capacity: 8)
    for key in 100..<200 {
      _ = insert([key], capacity: 8)
      for used in 0..<3 { #expect(cache.use(used, capacity: 8) == "value \(used)") }
    }
    #expect(cache.use(3, capacity: 8) == nil)
  }

  @Test("the LRU cache returns each evicted entry once")
  mutating func gone() {
    let gone = insert(0..<50, capacity: 8)
    #expect(Set(gone).count == gone.count)
    let left = (0..<50).filter { cache.peek($0) != nil }
    #expect((gone + left).sorted() == Array(0..<50))
  }

  @Test("LRU entries change and are removed in both generations, and a change creates none")
  mutating func changes() {
    _ = insert(0..<5, capacity: 8)
    for key in [0, 4, 9] { cache.change(key) { $0 += "!" } }
    #expect(cache.peek(0) == "value 0!" && cache.peek(4) == "value 4!" && cache.peek(9) == nil)
    cache.insert("other", as: 0, capacity: 8)
    #expect(cache.use(0, capacity: 8) == "other" && cache.count == 5)
    for key in [0, 4] { cache.remove(key) }
    #expect(cache.peek(0) == nil && cache.use(4, capacity: 8) == nil && cache.count == 3)
  }

  @Test("LRUCache.contains finds entries of both generations and does not count as a use")
  mutating func looked() {
    _ = insert(0..<5, capacity: 8)
    for key in [0, 4] {
      #expect(cache.contains(key) { $0 == "value \(key)" })
      #expect(!cache.contains(key) { $0 == "another" })
    }
    #expect(!cache.contains(9) { _ in true })
    for key in 100..<108 {
      #expect(cache.contains(0) { _ in true } == (cache.peek(0) != nil))
      _ = insert([key], capacity: 8)
    }
    #expect(!cache.contains(0) { _ in true })
  }

  @Test("the LRU cache evicts the oldest entries if it gets less room than before")
  mutating func shrinking() {
    _ = insert(0..<100, capacity: 100)
    for key in 100..<103 { _ = insert([key], capacity: 4) }
    #expect(cache.count <= 4)
  }
}
