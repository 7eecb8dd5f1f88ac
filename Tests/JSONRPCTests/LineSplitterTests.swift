import JSONRPC
import Testing
import UsherTestKit

struct LineSplitterTests {
  private enum Seen: Equatable {
    case line(String)
    case tooLong
  }

  private func events(_ splitter: inout LineSplitter, _ chunk: some Sequence<UInt8>) -> [Seen] {
    var seen: [Seen] = []
    splitter.feed(chunk) { event in
      switch event {
      case .line(let line): seen.append(.line(Array(line).text))
      case .tooLong: seen.append(.tooLong)
      }
    }
    return seen
  }

  private func events(_ splitter: inout LineSplitter, _ chunk: String) -> [Seen] {
    events(&splitter, chunk.utf8)
  }

  @Test("the line splitter returns lines without their LF or CR LF")
  func lines() {
    var splitter = LineSplitter()
    #expect(
      events(&splitter, "a\nbc\r\n\n\r\nd\r\r\ne\rf\n")
        == [.line("a"), .line("bc"), .line(""), .line(""), .line("d\r"), .line("e\rf")])
    #expect(!splitter.hasPartialLine)
    #expect(splitter.endedLines == 6)
  }

  @Test(
    "the line splitter returns a line whose parts arrive separately, even split between CR and LF")
  func parts() {
    var splitter = LineSplitter()
    #expect(events(&splitter, "hel").isEmpty)
    #expect(splitter.hasPartialLine)
    #expect(events(&splitter, "").isEmpty)
    #expect(events(&splitter, "lo\r").isEmpty)
    #expect(events(&splitter, "\nnext\nre") == [.line("hello"), .line("next")])
    #expect(splitter.hasPartialLine)
    #expect(events(&splitter, "st\n") == [.line("rest")])
    #expect(!splitter.hasPartialLine)
  }

  @Test("LineSplitter returns a line inside one chunk without a copy")
  func uncopied() {
    var splitter = LineSplitter()
    Array("first\nsecond\n".utf8).withUnsafeBytes { chunk in
      var starts: [UnsafeRawPointer?] = []
      splitter.feed(chunk) { event in
        if case .line(let line) = event { starts.append(line.baseAddress) }
      }
      #expect(starts == [chunk.baseAddress, chunk.baseAddress.map { $0 + 6 }])
    }
  }

  @Test("the line splitter reports a line over the limit as too long and still reads later lines")
  func limit() {
    var splitter = LineSplitter(maxLineBytes: 4)
    #expect(
      events(&splitter, "1234\n12345\n123\r\n1234\r\nok\n")
        == [.line("1234"), .tooLong, .line("123"), .tooLong, .line("ok")])
    #expect(splitter.endedLines == 5)
  }

  @Test("the line splitter reports a line over the limit once, as soon as it passes the limit")
  func tooLongAtOnce() {
    var splitter = LineSplitter(maxLineBytes: 4)
    #expect(events(&splitter, "1234").isEmpty)
    #expect(events(&splitter, "5") == [.tooLong])
    #expect(splitter.hasPartialLine)
    #expect(splitter.endedLines == 0)
    #expect(events(&splitter, "and much more of it").isEmpty)
    #expect(events(&splitter, "end\nnext\n") == [.line("next")])
    #expect(!splitter.hasPartialLine)
    #expect(splitter.endedLines == 2)
  }

  @Test("the line splitter's default limit of a line is 1 MiB")
  func defaultLimit() {
    var splitter = LineSplitter()
    let full = [UInt8](repeating: 0x61, count: 1 << 20)
    #expect(events(&splitter, full + [0x0A]).count == 1)
    #expect(events(&splitter, full).isEmpty)
    #expect(events(&splitter, [0x61]) == [.tooLong])
    #expect(events(&splitter, [0x0A]).isEmpty)
  }

  @Test("the line splitter can return one line at a time")
  func pulled() {
    var splitter = LineSplitter(maxLineBytes: 4)
    let bytes = Array("a\r\nlongest\nb\nc".utf8)
    var pieces: [LineSplitter.Piece] = []
    var places: [Int] = []
    var at = 0
    while at < bytes.count {
      let (piece, used) = bytes[at...].withUnsafeBytes { splitter.next($0) }
      pieces.append(piece)
      at += used
      places.append(at)
    }
    #expect(pieces == [.line(0..<1), .tooLong, .line(0..<1), .nothing])
    #expect(places == [3, 11, 13, 14])
    #expect(splitter.hasPartialLine)
    let (piece, used) = Array("d\r\nmore".utf8).withUnsafeBytes { splitter.next($0) }
    #expect(piece == .buffered(Array("cd".utf8)))
    #expect(used == 3)
    #expect(!splitter.hasPartialLine)
  }

  @Test("an offset in the line splitter counts from the chunk's start, also after a discarded line")
  func offsets() {
    var splitter = LineSplitter(maxLineBytes: 2)
    _ = Array("long".utf8).withUnsafeBytes { splitter.next($0) }
    let chunk = Array("er\nok\n".utf8)
    let (piece, used) = chunk.withUnsafeBytes { splitter.next($0) }
    #expect(piece == .line(3..<5))
    #expect(used == chunk.count)
    #expect(splitter.endedLines == 2)
  }

  @Test("a line of 200,000 bytes that arrives byte by byte is split in 20 seconds of computing")
  func byteByByte() {
    var splitter = LineSplitter()
    let bytes = [UInt8](repeating: 0x61, count: 200_000)
    var lines = 0
    let took = processorTime {
      bytes.withUnsafeBytes { bytes in
        for at in bytes.indices {
          splitter.feed(UnsafeRawBufferPointer(rebasing: bytes[at...at])) { _ in lines += 1 }
        }
      }
    }
    #expect(lines == 0)
    #expect(took < .seconds(20))
    #expect(events(&splitter, "\n").count == 1)
  }

  @Test("the line splitter gives the same events for every chunking", arguments: 0..<50)
  func chunking(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let alphabet: [UInt8] = [0x61, 0x62, 0x0D, 0x0A, 0x0B, 0x8A, 0x00, 0x09]
    let stream = (0..<400).map { _ in
      Int.random(in: 0..<3, using: &random) == 0
        ? 0x61 : alphabet[Int.random(in: 0..<alphabet.count, using: &random)]
    }
    let limit = Int.random(in: 1...20, using: &random)
    var whole = LineSplitter(maxLineBytes: limit)
    let expected = events(&whole, stream)
    for _ in 0..<10 {
      var splitter = LineSplitter(maxLineBytes: limit)
      var seen: [Seen] = []
      var at = 0
      while at < stream.count {
        let end = min(stream.count, at + Int.random(in: 1...30, using: &random))
        seen += events(&splitter, stream[at..<end])
        at = end
      }
      #expect(seen == expected)
      #expect(splitter.endedLines == whole.endedLines)
      #expect(splitter.hasPartialLine == whole.hasPartialLine)
    }
  }
}
