import ArgumentParser
import Glibc

/// Draws the results of a comparison.
struct Plot: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Draw the results of `usher-bench compare --json` as SVG on standard output.")

  @Argument(help: "The JSON file.", completion: .file(extensions: ["json"]))
  var file: String

  func run() throws {
    let text = try wholeFile(file)
    do {
      print(ComparisonPicture(comparison: try Comparison(json: Array(text.utf8))).svg)
    } catch let failure as BenchError {
      throw BenchError("\(file): \(failure)")
    }
  }
}

/// Draws a group of bars for each load, with the values next to them.
struct ComparisonPicture {
  let comparison: Comparison

  private static let width = 900.0
  private static let margin = 24.0
  private static let bars = (left: 128.0, right: 470.0)
  /// The right edges of the columns: calls per second, their ratio, p50, p99.
  private static let columns = [
    (580.0, "calls/s"), (690, "usherd is"), (780, "p50 µs"), (876, "p99 µs"),
  ]
  private static let row = 26.0
  private static let head = 84.0
  private static let title = 34.0

  private struct Group {
    let load: LoadShape
    let results: [Comparison.Result]
    var height: Double { title + Double(results.count) * row + 14 }
  }

  private var groups: [Group] {
    LoadShape.allCases.compactMap { load in
      let results = ServerName.allCases.compactMap { comparison.result($0, load) }
      return results.isEmpty ? nil : Group(load: load, results: results)
    }
  }

  /// A complete document. Its text is selectable, and its colours follow the reader's light or dark
  /// mode.
  var svg: String {
    var drawing = Drawing()
    drawing.text("Cached token.get over a Unix socket", Self.margin, 34, "h")
    drawing.text(
      "Calls per second: the bar is the median of \(comparison.rounds) rounds, the line shows"
        + " the range from minimum to maximum.", Self.margin, 56, "m")
    var top = Self.head
    for group in groups {
      draw(group, top, &drawing)
      top += group.height
    }
    let machine = comparison.machine
    drawing.text(
      "\(machine.cpus) CPUs, \(machine.cpu), Linux \(machine.kernel);"
        + " \(comparison.seconds.fixed(1)) s each. The C echo and Redis answer as many bytes as"
        + " usherd.", Self.margin, top + 14, "m")
    return Self.document(drawing.elements, height: top + 34)
  }

  private func draw(_ group: Group, _ top: Double, _ drawing: inout Drawing) {
    drawing.line(Self.margin, top, Self.width - Self.margin, top, "r")
    drawing.text(group.load.label, Self.margin, top + 22, "t")
    for (edge, words) in Self.columns { drawing.text(words, edge, top + 22, "m e") }
    let most = group.results.flatMap(\.requestsPerSecond).max() ?? 1
    let scale = (Self.bars.right - Self.bars.left) / max(most, 1)
    for (index, result) in group.results.enumerated() {
      let y = top + Self.title + Double(index) * Self.row
      draw(result, y, scale, &drawing)
    }
  }

  private func draw(
    _ result: Comparison.Result, _ y: Double, _ scale: Double, _ drawing: inout Drawing
  ) {
    let isOwn = result.server == .usherd
    let (base, middle) = (y + 17, y + 12)
    let rates = result.requestsPerSecond
    drawing.text(result.server.label, Self.margin, base, isOwn ? "b" : "n")
    drawing.bar(
      Self.bars.left, y + 4, rates.median * scale, 16, isOwn ? "own" : "other")
    if let least = rates.min(), let most = rates.max(), most > least {
      drawing.line(
        Self.bars.left + least * scale, middle, Self.bars.left + most * scale, middle, "w")
    }
    let ratio = comparison.ratios.first {
      $0.load == result.load && $0.to == result.server && $0.toLoad == nil
        && $0.measure == .requestsPerSecond
    }
    let numbers = [
      rates.median.grouped, ratio.map { "\($0.median.fixed(2)) ×" } ?? "",
      result.p50Microseconds.median.fixed(1), result.p99Microseconds.median.fixed(1),
    ]
    for ((edge, _), number) in zip(Self.columns, numbers) {
      drawing.text(number, edge, base, isOwn ? "b e" : "n e")
    }
  }

  private static func document(_ elements: [String], height: Double) -> String {
    let size = "width=\"\(width.fixed(0))\" height=\"\(height.fixed(0))\""
    let box = "viewBox=\"0 0 \(width.fixed(0)) \(height.fixed(0))\""
    return """
      <svg xmlns="http://www.w3.org/2000/svg" \(size) \(box) role="img">
      <title>Cached token.get of usherd beside other servers</title>
      <style>
        svg { --page: #ffffff; --ink: #1f2328; --faint: #59636e; --rule: #d1d9e0;
          --own: #0969da; --other: #afb8c1; --whisker: #1f2328;
          font: 14px system-ui, "Segoe UI", "DejaVu Sans", sans-serif; }
        @media (prefers-color-scheme: dark) {
          svg { --page: #0d1117; --ink: #e6edf3; --faint: #9198a1; --rule: #3d444d;
            --own: #4493f8; --other: #59636e; --whisker: #e6edf3; } }
        .page { fill: var(--page); } .own { fill: var(--own); } .other { fill: var(--other); }
        text { fill: var(--ink); font-variant-numeric: tabular-nums; }
        .h { font-size: 20px; font-weight: 600; } .t, .b { font-weight: 600; }
        .m { fill: var(--faint); font-size: 12.5px; } .e { text-anchor: end; }
        .r { stroke: var(--rule); } .w { stroke: var(--whisker); stroke-width: 1.5; }
      </style>
      <rect class="page" \(size)/>
      \(elements.joined(separator: "\n"))
      </svg>
      """
  }
}

/// SVG elements, in drawing order.
private struct Drawing {
  private(set) var elements: [String] = []

  mutating func text(_ words: String, _ x: Double, _ y: Double, _ style: String) {
    elements.append(
      "<text class=\"\(style)\" x=\"\(x.fixed(1))\" y=\"\(y.fixed(1))\">\(words.xml)</text>")
  }

  mutating func bar(
    _ x: Double, _ y: Double, _ width: Double, _ height: Double, _ style: String
  ) {
    elements.append(
      "<rect class=\"\(style)\" x=\"\(x.fixed(1))\" y=\"\(y.fixed(1))\" rx=\"2\""
        + " width=\"\(max(width, 1).fixed(1))\" height=\"\(height.fixed(1))\"/>")
  }

  mutating func line(
    _ x1: Double, _ y1: Double, _ x2: Double, _ y2: Double, _ style: String
  ) {
    elements.append(
      "<line class=\"\(style)\" x1=\"\(x1.fixed(1))\" y1=\"\(y1.fixed(1))\""
        + " x2=\"\(x2.fixed(1))\" y2=\"\(y2.fixed(1))\"/>")
  }
}

extension LoadShape {
  fileprivate var label: String {
    switch self {
    case .one: "One connection"
    case .many: "50 connections"
    case .deep: "50 connections, 16 calls at a time"
    case .crowded: "50 connections, beside 500 idle ones and half a line"
    }
  }
}

extension ServerName {
  fileprivate var label: String {
    switch self {
    case .usherd: "usherd"
    case .echo: "C echo"
    case .redis: "Redis GET"
    case .sshAgent: "ssh-agent list"
    case .oidcAgent: "oidc-agent"
    }
  }
}

extension String {
  /// The string escaped for XML.
  fileprivate var xml: String {
    map { character in
      switch character {
      case "&": "&amp;"
      case "<": "&lt;"
      case ">": "&gt;"
      case "\"": "&quot;"
      default: String(character)
      }
    }.joined()
  }
}

extension Double {
  /// The number rounded to an integer, with a comma before each group of three digits.
  fileprivate var grouped: String {
    let digits = Array(fixed(0))
    return digits.enumerated().map { index, digit in
      let left = digits.count - index
      return (index > 0 && left % 3 == 0 ? "," : "") + String(digit)
    }.joined()
  }
}
