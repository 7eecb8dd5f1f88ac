import Glibc
import JSONRPC

/// The results of a measurement: printed at once, and written as JSON if a file is given.
struct MeasurementResults {
  private let command: String
  private let report: ReportFile?
  private var results: [JSONValue] = []
  private(set) var isMissed = false

  /// - Parameter file: The file that ``write()`` replaces; nil if no file is written.
  /// - Throws: `BenchError` if the file cannot be written.
  init(_ command: String, to file: String?) throws {
    warnAboutDebugBuild()
    self.command = command
    report = try file.map { try ReportFile($0) }
  }

  /// The limit that a value must reach.
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

  /// - Parameter values: One value for each round. Their median is the result.
  mutating func add(_ name: String, _ values: [Double], _ unit: String, goal: Goal? = nil) {
    if goal?.isReached(by: values.median) == false { isMissed = true }
    print(Self.line(name, values, unit, goal: goal))
    fflush(nil)
    var result: [String: JSONValue] = [
      "name": .string(name), "unit": .string(unit),
      "values": .array(values.map { JSONValue($0) ?? .null }),
    ]
    if let goal { result["goal"] = goal.json }
    results.append(.object(result))
  }

  static func line(_ name: String, _ values: [Double], _ unit: String, goal: Goal?) -> String {
    var words = [name]
    if let goal {
      words.append("(\(goal.words)\(goal.isReached(by: values.median) ? "" : ", MISSED"))")
    }
    if values.count > 5, let least = values.min(), let most = values.max() {
      words.append("[\(least.fixed(1)) to \(most.fixed(1))]")
    } else if values.count > 1 {
      words.append("[\(values.map { $0.fixed(1) }.joined(separator: " "))]")
    }
    return "\(values.median.short) \(unit)  \(words.joined(separator: " "))"
  }

  mutating func add(_ name: String, _ value: Double, _ unit: String, goal: Goal? = nil) {
    add(name, [value], unit, goal: goal)
  }

  func write() throws {
    let json: JSONValue = [
      "version": 1, "command": .string(command), "results": .array(results),
    ]
    try report?.write(String(decoding: json.encoded(), as: UTF8.self) + "\n")
  }
}
