/// The calls that are measured, as lines of JSON.
enum Calls {
  static let status = line("system.status")
  static let accounts = line("account.list")
  static let unknownFlow = line("flow.get", #"{"flow":"flw_00000000000000000000000000"}"#)
  static let flowStart = line(
    "flow.start", #"{"provider":"silent","kind":"authorize","params":{}}"#)

  static func line(_ method: String, _ params: String = "{}", id: Int = 1) -> [UInt8] {
    Array(
      (#"{"jsonrpc":"2.0","id":\#(id),"method":"\#(method)","params":\#(params)}"# + "\n").utf8)
  }

  /// The lines that a flood repeats.
  static let flood: [UInt8] = (0..<inFlood / 4).flatMap { _ in
    status + accounts + unknownFlow + flowStart
  }
  static let inFlood = 32
}
