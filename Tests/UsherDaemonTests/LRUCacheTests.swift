import Testing

@testable import UsherDaemon

@Suite("What was used lately")
struct LRUCacheTests {
  private var cache = LRUCache<Int, String>()

  private mutating func keep(_ keys: some Sequence<Int>, room: Int) -> [Int] {
    keys.flatMap { cache.keep("value \($0)", as: $0, room: room).keys }
  }

  @Test("there are never more than there is room for", arguments: [2, 3, 8, 9])
  mutating func room(_ room: Int) {
    for key in 0..<100 {
      _ = keep([key], room: room)
      #expect(cache.count <= room)
      // What is used makes no room beyond that either.
      _ = cache.use(key / 2, room: room)
      #expect(cache.count <= room)
    }
  }

  @Test("half of it holds what was used last, whatever else comes")
  mutating func last() {
    _ = keep(0..<4, room: 8)
    for key in 100..<200 {
      _ = keep([key], room: 8)
      for used in 0..<3 { #expect(cache.use(used, room: 8).value == "value \(used)") }
    }
    #expect(cache.use(3, room: 8).value == nil)
  }

  @Test("all that goes is handed out, once")
  mutating func gone() {
    let gone = keep(0..<50, room: 8)
    #expect(Set(gone).count == gone.count)
    let left = (0..<50).filter { cache.peek($0) != nil }
    #expect((gone + left).sorted() == Array(0..<50))
  }

  @Test("it is changed and removed in either generation, and not made where it is not")
  mutating func changes() {
    _ = keep(0..<5, room: 8)
    for key in [0, 4, 9] { cache.change(key) { $0 += "!" } }
    #expect(cache.peek(0) == "value 0!" && cache.peek(4) == "value 4!" && cache.peek(9) == nil)
    _ = cache.keep("other", as: 0, room: 8)
    #expect(cache.use(0, room: 8).value == "other" && cache.count == 5)
    for key in [0, 4] { cache.remove(key) }
    #expect(cache.peek(0) == nil && cache.use(4, room: 8).value == nil && cache.count == 3)
  }

  @Test("to look whether there is one that fits is no use of it, and finds it in either generation")
  mutating func looked() {
    _ = keep(0..<5, room: 8)
    for key in [0, 4] {
      #expect(cache.contains(key) { $0 == "value \(key)" })
      #expect(!cache.contains(key) { $0 == "another" })
    }
    #expect(!cache.contains(9) { _ in true })
    for key in 100..<108 {
      #expect(cache.contains(0) { _ in true } == (cache.peek(0) != nil))
      _ = keep([key], room: 8)
    }
    #expect(!cache.contains(0) { _ in true })
  }

  @Test("with less room than before the rest goes")
  mutating func shrinking() {
    _ = keep(0..<100, room: 100)
    for key in 100..<103 { _ = keep([key], room: 4) }
    #expect(cache.count <= 4)
  }
}
