/// Generates random lines that are slow to parse: every kind of value, at every place in a call, of
/// any size up to the limit for a line.
struct StallLines {
  /// One kind of line, whose parts are chosen at random.
  struct Shape: Hashable {
    var method: Int
    var element: Int
    var place: Place
    var depth: Int
    var bytes: Int
  }

  /// The place of the repeated values.
  enum Place: Hashable, CaseIterable {
    /// Each value in its own member of the parameters.
    case members
    /// All in one member that the method knows.
    case known
    /// In the call's id, as a long string or number.
    case id
    /// In many calls of one batch.
    case batch
    /// In the method's name.
    case method
  }

  /// The methods, each with a member that it knows.
  static let methods: [(name: String, known: String)] = [
    ("rpc.cancel", "id"), ("rpc.hello", "client"), ("system.status", "verbose"),
    ("flow.start", "params"), ("flow.submit", "input"), ("flow.wait", "flow"),
    ("token.get", "provider"), ("account.list", "provider"), ("events.subscribe", "topics"),
    ("registration.checkUserKey", "userKey"), ("no.such", "x"),
  ]

  static let elements = [
    "{}", "[]", #""""#, "1", "-1.5e3", "null", "true", #""\u0061""#, #""é""#, #""a\u0301""#,
    #"{"a":{}}"#, "[[]]", #"{"type":"object"}"#, "12345678901234567890123456789", "1e400",
  ]

  /// The limit for a line, in bytes.
  private static let limit = 1_048_576

  private var random: SplitMix
  /// The shapes with the slowest replies so far, slowest first.
  private(set) var slowest: [(shape: Shape, nanoseconds: UInt64)] = []
  private static let kept = 12

  init(seed: UInt64) { random = SplitMix(state: seed) }

  /// Returns the next shape to try. One in two resembles a shape that was slow.
  mutating func next() -> Shape {
    var shape = Shape(
      method: pick(Self.methods.count), element: pick(Self.elements.count),
      place: Place.allCases[pick(Place.allCases.count)], depth: pick(28), bytes: 0)
    if !slowest.isEmpty, pick(2) == 0 {
      shape = slowest[pick(slowest.count)].shape
      switch pick(4) {
      case 0: shape.method = pick(Self.methods.count)
      case 1: shape.element = pick(Self.elements.count)
      case 2: shape.depth = pick(28)
      default: break
      }
    }
    // Every order of magnitude is equally likely.
    let doublings = 10 + pick(11)
    shape.bytes = min(1 << doublings + pick(1 << doublings), Self.limit)
    return shape
  }

  /// Records how long the reply to a line of this shape took.
  mutating func record(_ shape: Shape, _ nanoseconds: UInt64) {
    slowest.append((shape, nanoseconds))
    slowest.sort { $0.nanoseconds > $1.nanoseconds }
    if slowest.count > Self.kept { slowest.removeLast() }
  }

  private mutating func pick(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }

  /// Returns the line of a shape, with its newline; never longer than the limit.
  static func line(_ shape: Shape) -> [UInt8] {
    let (name, known) = methods[shape.method]
    let element = elements[shape.element]
    let room = max(0, min(shape.bytes, limit) - 400)
    let line =
      switch shape.place {
      case .members: call(name, "{\(members(of: element, room))}")
      case .known: call(name, "{\"\(known)\":\(nested(element, shape.depth, room))}")
      case .id: call(name, "{}", id: longID(shape, room))
      case .batch:
        "[\(repeated(call(name, "{\"\(known)\":\(element)}"), room, atMost: 64))]"
      case .method: call(String(repeating: "a\u{301}", count: room / 3), "{}")
      }
    return Array("\(line)\n".utf8)
  }

  private static func call(_ method: String, _ params: String, id: String = "1") -> String {
    #"{"jsonrpc":"2.0","id":\#(id),"method":"\#(method)","params":\#(params)}"#
  }

  private static func repeated(_ text: String, _ room: Int, atMost most: Int = .max) -> String {
    let count = max(1, min(most, room / (text.utf8.count + 1)))
    return Array(repeating: text, count: count).joined(separator: ",")
  }

  private static func nested(_ element: String, _ depth: Int, _ room: Int) -> String {
    let (open, close) = (
      String(repeating: "[", count: depth), String(repeating: "]", count: depth)
    )
    return "\(open)[\(repeated(element, room - 2 * depth))]\(close)"
  }

  private static func members(of element: String, _ room: Int) -> String {
    (0..<max(1, room / (element.utf8.count + 11))).map { "\"k\($0)\":\(element)" }
      .joined(separator: ",")
  }

  private static func longID(_ shape: Shape, _ room: Int) -> String {
    switch shape.element % 3 {
    case 0: "\"\(String(repeating: "x", count: room))\""
    case 1: "\"\(String(repeating: "\\u0061", count: room / 6))\""
    default: "1\(String(repeating: "0", count: room))"
    }
  }
}

/// A random number generator that repeats its numbers for the same seed.
struct SplitMix: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
