/// The results of a comparison as text tables, ratios first.
struct ComparisonTable {
  let comparison: Comparison

  var lines: [String] {
    let rounds = comparison.rounds
    return ["usherd compared with the others: median of \(rounds) rounds (minimum to maximum)"]
      + judged + ["", "all ratios, usherd / other"] + ratios + ["", "medians"] + results
      + ["", machine]
  }

  private var judged: [String] {
    let rows = comparison.ratios.compactMap { ratio -> [String]? in
      guard let goal = ratio.goal else { return nil }
      let other = ratio.toLoad.map { "itself under \($0.rawValue)" } ?? ratio.to.rawValue
      return [
        ratio.load.rawValue, "\(ratio.measure.label) / \(other)", ratio.median.fixed(2),
        "(\(ratio.least.fixed(2)) to \(ratio.most.fixed(2)))",
        "\(ratio.measure.moreIsBetter ? "at least" : "at most") \(goal.fixed(2))",
        ratio.isReached ? "reached" : "MISSED",
      ]
    }
    return Self.table(rows, right: [2])
  }

  private var ratios: [String] {
    var rows = [["load", "other"] + Comparison.Measure.allCases.map(\.label)]
    for load in LoadShape.allCases {
      for server in ServerName.allCases {
        let numbers = Comparison.Measure.allCases.map { measure in
          comparison.ratios.first {
            $0.load == load && $0.to == server && $0.toLoad == nil && $0.measure == measure
          }?.median.fixed(2)
        }
        guard numbers.contains(where: { $0 != nil }) else { continue }
        rows.append([load.rawValue, server.rawValue] + numbers.map { $0 ?? "" })
      }
    }
    return Self.table(rows, right: [2, 3, 4, 5])
  }

  private var results: [String] {
    var rows = [
      ["load", "server", "requests/s", "CPU µs", "p50 µs", "p99 µs", "RSS KiB", "client"]
    ]
    for load in LoadShape.allCases {
      for server in ServerName.allCases {
        guard let result = comparison.result(server, load) else { continue }
        rows.append([
          load.rawValue, server.rawValue, result.requestsPerSecond.median.fixed(0),
          result.cpuMicroseconds.median.fixed(2), result.p50Microseconds.median.fixed(1),
          result.p99Microseconds.median.fixed(1), result.rssKiB.fixed(0),
          "busy \((result.clientBusy * 100).fixed(0)) %",
        ])
      }
    }
    return Self.table(rows, right: [2, 3, 4, 5, 6, 7])
  }

  private var machine: String {
    let machine = comparison.machine
    return "\(machine.cpus) CPUs, \(machine.cpu), Linux \(machine.kernel); "
      + "\(comparison.seconds.fixed(1)) s each"
  }

  /// - Parameter right: The columns that are aligned to the right.
  private static func table(_ rows: [[String]], right: Set<Int>) -> [String] {
    let columns = rows.map(\.count).max() ?? 0
    let widths = (0..<columns).map { column in
      rows.map { $0.indices.contains(column) ? $0[column].count : 0 }.max() ?? 0
    }
    return rows.map { row in
      var line = ""
      for (column, cell) in row.enumerated() {
        let space = String(repeating: " ", count: widths[column] - cell.count)
        line += "  " + (right.contains(column) ? space + cell : cell + space)
      }
      return String(line.reversed().drop { $0 == " " }.reversed())
    }
  }
}

extension Comparison.Measure {
  var label: String {
    switch self {
    case .requestsPerSecond: "requests/s"
    case .cpuMicroseconds: "CPU per call"
    case .p50Microseconds: "p50"
    case .p99Microseconds: "p99"
    }
  }
}

extension Double {
  /// The number with this many decimal places, at most six; `-` if it is not finite or too large.
  func fixed(_ digits: Int) -> String {
    guard isFinite, magnitude < 1e12 else { return "-" }
    let scale = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000][min(max(digits, 0), 6)]
    let number = Int((magnitude * Double(scale)).rounded())
    let sign = self < 0 && number != 0 ? "-" : ""
    guard scale > 1 else { return "\(sign)\(number)" }
    let fraction = "\(scale + number % scale)".dropFirst()
    return "\(sign)\(number / scale).\(fraction)"
  }
}
