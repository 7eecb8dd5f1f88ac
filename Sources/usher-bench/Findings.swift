import Glibc
import JSONRPC

/// What a measure found: told as it comes, and written as JSON where that is asked for.
struct Findings {
  private let command: String
  private var results: [JSONValue] = []
  private(set) var isMissed = false

  init(_ command: String) {
    self.command = command
    #if DEBUG
      print("a debug build: its numbers mean nothing")
    #endif
  }

  /// What a number is to be.
  enum Goal {
    case atLeast(Double)
    case atMost(Double)

    fileprivate func isReached(by value: Double) -> Bool {
      switch self {
      case .atLeast(let least): value >= least
      case .atMost(let most): value <= most
      }
    }

    fileprivate var words: String {
      switch self {
      case .atLeast(let least): "goal ≥ \(least)"
      case .atMost(let most): "goal ≤ \(most)"
      }
    }

    fileprivate var json: JSONValue {
      switch self {
      case .atLeast(let least): ["least": JSONValue(least) ?? .null]
      case .atMost(let most): ["most": JSONValue(most) ?? .null]
      }
    }
  }

  /// - Parameter values: One each round; their median is what counts.
  mutating func add(_ name: String, _ values: [Double], _ unit: String, goal: Goal? = nil) {
    let isReached = goal?.isReached(by: values.median) ?? true
    if !isReached { isMissed = true }
    var words = goal.map { ["(\($0.words)\(isReached ? "" : ", missed"))"] } ?? []
    if values.count > 1 {
      words.append("[\(values.map(\.plain).joined(separator: " "))]")
    }
    print("\(values.median.short) \(unit)  \(([name] + words).joined(separator: " "))")
    fflush(nil)
    var result: [String: JSONValue] = [
      "name": .string(name), "unit": .string(unit),
      "values": .array(values.map { JSONValue($0) ?? .null }),
    ]
    if let goal { result["goal"] = goal.json }
    results.append(.object(result))
  }

  mutating func add(_ name: String, _ value: Double, _ unit: String, goal: Goal? = nil) {
    add(name, [value], unit, goal: goal)
  }

  /// - Parameter file: What is there is replaced; nil: nothing is written.
  func write(to file: String?) throws {
    guard let file else { return }
    let json: JSONValue = [
      "version": 1, "command": .string(command), "results": .array(results),
    ]
    unlink(file)
    try MeasuredDaemon.write(String(decoding: json.encoded(), as: UTF8.self) + "\n", to: file)
  }
}

extension Double {
  /// One digit after the point.
  fileprivate var plain: String { String(short.drop { $0 == " " }) }
}
