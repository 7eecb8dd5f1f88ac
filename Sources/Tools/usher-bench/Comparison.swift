import FoundationEssentials

/// The results of `usher-bench compare`, which can be printed, written as JSON and drawn.
struct Comparison: Codable, Equatable {
  /// The version of the JSON format.
  static let version = 1

  var version = Comparison.version
  let machine: Machine
  let rounds: Int
  /// The length of each measurement.
  let seconds: Double
  let results: [Result]
  let ratios: [Ratio]

  struct Machine: Codable, Equatable {
    let cpus: Int
    let kernel: String
    let cpu: String
  }

  /// One server under one load, with one value for each round.
  struct Result: Codable, Equatable {
    let server: ServerName
    let load: LoadShape
    var requestsPerSecond: [Double] = []
    /// The server's processor time per call.
    var cpuMicroseconds: [Double] = []
    var p50Microseconds: [Double] = []
    var p99Microseconds: [Double] = []
    /// The resident memory of all processes of the server after the last round.
    var rssKiB = 0.0
    /// The client's processor time per second; the median of the rounds.
    var clientBusy = 0.0
  }

  enum Measure: String, Codable, CaseIterable {
    case requestsPerSecond
    case cpuMicroseconds
    case p50Microseconds
    case p99Microseconds

    /// Whether a larger value is better. Of all other measures a smaller value is.
    var moreIsBetter: Bool { self == .requestsPerSecond }
  }

  /// A value of one server divided by the same value of another server, round by round.
  struct Ratio: Codable, Equatable {
    let load: LoadShape
    let of: ServerName
    let to: ServerName
    /// The load of the other server; nil if it is the same.
    let toLoad: LoadShape?
    let measure: Measure
    let median: Double
    let least: Double
    let most: Double
    /// The limit for the median; nil if there is none. It is a lower limit if more is better,
    /// otherwise an upper one.
    let goal: Double?

    var isReached: Bool {
      guard let goal else { return true }
      return measure.moreIsBetter ? median >= goal : median <= goal
    }
  }

  init(machine: Machine, rounds: Int, seconds: Double, results: [Result]) {
    self.machine = machine
    self.rounds = rounds
    self.seconds = seconds
    self.results = results
    ratios = Self.ratios(of: results)
  }

  /// - Throws: `BenchError` if the bytes are not those that ``json()`` writes.
  init(json: [UInt8]) throws {
    struct Head: Decodable {
      let version: Int
    }
    let other = BenchError("this is not what `usher-bench compare --json` writes")
    let decoder = JSONDecoder()
    guard let head = try? decoder.decode(Head.self, from: Data(json)) else { throw other }
    guard head.version == Self.version else {
      throw BenchError("version \(head.version) of a comparison is not supported")
    }
    guard let comparison = try? decoder.decode(Comparison.self, from: Data(json)) else {
      throw other
    }
    guard !comparison.results.isEmpty else { throw BenchError("this comparison has no results") }
    let isWhole = comparison.results.allSatisfy { result in
      Measure.allCases.allSatisfy { result[$0].count == comparison.rounds }
    }
    guard comparison.rounds > 0, isWhole else {
      throw BenchError("this comparison lacks results of some rounds")
    }
    self = comparison
  }

  func json() throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    return Array(try encoder.encode(self)) + [UInt8(ascii: "\n")]
  }

  func result(_ server: ServerName, _ load: LoadShape) -> Result? {
    results.first { $0.server == server && $0.load == load }
  }
}

// MARK: - Ratios

extension Comparison {
  /// A ratio that usherd must reach.
  private struct Goal {
    let load: LoadShape
    let to: ServerName
    var toLoad: LoadShape?
    let measure: Measure
    let number: Double
  }

  private static let goals = [
    Goal(load: .many, to: .redis, measure: .requestsPerSecond, number: 1),
    Goal(load: .deep, to: .redis, measure: .requestsPerSecond, number: 1),
    Goal(load: .one, to: .echo, measure: .p50Microseconds, number: 1.25),
    Goal(load: .many, to: .oidcAgent, measure: .requestsPerSecond, number: 8),
    Goal(load: .crowded, to: .usherd, toLoad: .many, measure: .p99Microseconds, number: 2),
  ]

  /// Returns all ratios, those with a goal first.
  private static func ratios(of results: [Result]) -> [Ratio] {
    func result(_ server: ServerName, _ load: LoadShape) -> Result? {
      results.first { $0.server == server && $0.load == load }
    }
    let judged = goals.compactMap { goal -> Ratio? in
      guard let own = result(.usherd, goal.load),
        let other = result(goal.to, goal.toLoad ?? goal.load)
      else { return nil }
      return Ratio(own, other, goal.measure, goal: goal.number)
    }
    let others = LoadShape.allCases.flatMap { load in
      ServerName.allCases.flatMap { server -> [Ratio] in
        guard server != .usherd, let own = result(.usherd, load), let other = result(server, load)
        else { return [] }
        return Measure.allCases.compactMap { Ratio(own, other, $0, goal: nil) }
      }
    }
    let isJudged = { (ratio: Ratio) in
      judged.contains {
        $0.load == ratio.load && $0.to == ratio.to && $0.toLoad == nil
          && $0.measure == ratio.measure
      }
    }
    return judged + others.filter { !isJudged($0) }
  }
}

extension Comparison.Ratio {
  /// Creates a ratio; nil if there is nothing to compare.
  fileprivate init?(
    _ own: Comparison.Result, _ other: Comparison.Result, _ measure: Comparison.Measure,
    goal: Double?
  ) {
    let ratios = zip(own[measure], other[measure]).map { $0 / $1 }.filter(\.isFinite)
    guard let least = ratios.min(), let most = ratios.max() else { return nil }
    self.init(
      load: own.load, of: own.server, to: other.server,
      toLoad: other.load == own.load ? nil : other.load, measure: measure,
      median: ratios.median, least: least, most: most, goal: goal)
  }
}

extension Comparison.Result {
  subscript(measure: Comparison.Measure) -> [Double] {
    switch measure {
    case .requestsPerSecond: requestsPerSecond
    case .cpuMicroseconds: cpuMicroseconds
    case .p50Microseconds: p50Microseconds
    case .p99Microseconds: p99Microseconds
    }
  }
}
