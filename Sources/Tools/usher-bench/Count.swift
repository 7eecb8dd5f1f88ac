import ArgumentParser
import Glibc
import JSONRPC

/// Counts the instructions that the daemon executes for a call, with valgrind.
struct Count: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Count the instructions of one call. Unlike times, the counts are repeatable.",
    discussion: """
      Runs the daemon under callgrind and counts while one connection makes calls of one kind. \
      With --against, the exit status is 1 if a count differs from that in the file by more than \
      the file's tolerance. If a count is lower, update the file with --write.
      """)

  @OptionGroup var program: MeasuredProgram

  @Option(help: "Number of calls of each kind, a multiple of 64.")
  var calls = 4096

  @Option(help: "File with the expected instructions of each kind.")
  var against: String?

  @Option(help: "File to write the counted instructions of each kind to.")
  var write: String?

  /// A kind of call, and how many of them are sent before the first reply is read.
  private struct Kind {
    let name: String
    let depth: Int
    let isToken: Bool
  }

  private static let kinds = [
    Kind(name: "token.get", depth: 1, isToken: true),
    Kind(name: "token.get, 16 in the pipeline", depth: 16, isToken: true),
    Kind(name: "system.status", depth: 1, isToken: false),
  ]

  /// The number of calls before the count begins, so that one-time work is done.
  private static let warming = 256
  /// The least and the greatest number of counts for each kind. The result is the smallest count,
  /// once a second count agrees with it; larger counts include other work of the daemon, such as
  /// that after its start.
  private static let (windows, mostWindows) = (4, 64)
  private static let tolerance = 5.0

  func validate() throws {
    guard calls > 0, Self.kinds.allSatisfy({ calls % ($0.depth * Self.windows) == 0 }) else {
      throw ValidationError("--calls must be more than 0 and a multiple of 64")
    }
  }

  func run() throws {
    let program = try program.path
    let report = try write.map { try ReportFile($0) }
    // A file that is about to be replaced sets no limits.
    let limits = try against.flatMap { $0 == write ? nil : try Limits(in: $0) }
    guard access(Self.valgrind, X_OK) == 0 else {
      throw BenchError("\(Self.valgrind) is not installed (package valgrind)")
    }
    // Otherwise hashing, and with it the count, differs from process to process.
    setenv("SWIFT_DETERMINISTIC_HASHING", "1", 1)
    let counted = try instructions(try SignedInDaemon(program), program)
    print("instructions per call, from \(calls) calls of each kind")
    for kind in Self.kinds { print("\(Double(counted[kind.name] ?? 0).short)  \(kind.name)") }
    try report?.write(Self.json(counted))
    if let limits, try limits.isWrong(counted) { throw ExitCode(1) }
  }
}

// MARK: - Counting

extension Count {
  private static let (valgrind, control) = ("/usr/bin/valgrind", "/usr/bin/callgrind_control")

  /// - Returns: For each kind, the instructions of all the daemon's threads per call.
  private func instructions(
    _ signedIn: SignedInDaemon, _ program: String
  ) throws -> [String: Int] {
    let daemon = signedIn.daemon
    let file = daemon.directory.file("callgrind")
    try daemon.restart(
      Self.valgrind,
      [
        "--tool=callgrind", "--callgrind-out-file=\(file)", "--quiet",
        // Takes valgrind's messages about system calls that it does not know.
        "--log-file=\(daemon.directory.file("valgrind"))", program,
      ],
      timeout: 300)
    let client = try BlockingClient(daemon.socketPath)
    var counted: [String: Int] = [:]
    var dumps = 0
    for kind in Self.kinds {
      try call(kind, Self.warming, client, signedIn)
      var totals: [Int] = []
      while !Self.agree(totals) {
        guard totals.count < Self.mostWindows else {
          throw BenchError("\(kind.name): no two counts agree: \(totals)")
        }
        try controlCallgrind("--zero", daemon)
        try call(kind, calls / Self.windows, client, signedIn)
        try controlCallgrind("--dump", daemon)
        dumps += 1
        totals.append(try Self.total(of: "\(file).\(dumps)"))
        totals.sort()
      }
      counted[kind.name] = totals[0] * Self.windows / calls
    }
    return counted
  }

  /// Whether the two smallest counts differ by at most 0.5 %.
  private static func agree(_ totals: [Int]) -> Bool {
    totals.count >= windows && (totals[1] - totals[0]) * 200 <= totals[0]
  }

  /// Reads the total from the header of a dump.
  private static func total(of dump: String) throws -> Int {
    let lines = try wholeFile(dump).split(separator: "\n")
    let total = lines.first { $0.hasPrefix("summary:") }?.split(separator: " ").last
    guard let count = total.flatMap({ Int($0) }) else { throw BenchError("callgrind has no count") }
    return count
  }

  private func controlCallgrind(_ word: String, _ daemon: MeasuredDaemon) throws {
    let control = try ChildProcess(Self.control, [word, "\(daemon.pid)"])
    _ = control.allOutput()
    control.join()
  }

  private func call(
    _ kind: Kind, _ count: Int, _ client: BlockingClient, _ signedIn: SignedInDaemon
  ) throws {
    let line = kind.isToken ? signedIn.tokenCall() : Calls.status
    let lines = (0..<kind.depth).flatMap { _ in line }
    for _ in 0..<count / kind.depth { _ = try client.time(lines, replies: kind.depth) }
    guard client.reply.contains(#""result""#) else {
      throw BenchError("the daemon refused the call: \(client.reply)")
    }
  }
}

// MARK: - What they may be

extension Count {
  private static func json(_ counted: [String: Int]) -> String {
    let json: JSONValue = [
      "version": 1, "tolerancePercent": .integer(Int64(tolerance)),
      "instructions": .object(counted.mapValues { .integer(Int64($0)) }),
    ]
    return String(decoding: json.encoded(), as: UTF8.self) + "\n"
  }

  /// The instructions per call that a file allows.
  private struct Limits {
    private let file: String
    private let percent: Double
    private let instructions: [String: JSONValue]

    /// - Throws: `BenchError` if the file cannot be read or has no limits.
    init(in file: String) throws {
      let text = try wholeFile(file)
      let json = try? JSONValue(parsing: Array(text.utf8))
      guard let instructions = json?["instructions"]?.objectValue,
        let percent = json?["tolerancePercent"]?.integerValue
      else { throw BenchError("\(file) has no expected instructions") }
      self.file = file
      self.percent = Double(percent)
      self.instructions = instructions
    }

    /// Prints how the count of each kind has changed.
    ///
    /// - Returns: Whether a count has changed by more than the tolerance, in either direction.
    func isWrong(_ counted: [String: Int]) throws -> Bool {
      var isWrong = false
      for (name, count) in counted.sorted(by: { $0.key < $1.key }) {
        guard let limit = instructions[name]?.integerValue, limit > 0 else {
          throw BenchError("\(file) has no expected instructions for \(name)")
        }
        let change = (Double(count) / Double(limit) - 1) * 100
        let verdict =
          change > percent
          ? "too many" : change < -percent ? "fewer: update the file" : "within the tolerance"
        print("\(change.short) %  \(name): \(verdict), expected \(limit)")
        if change.magnitude > percent { isWrong = true }
      }
      return isWrong
    }
  }
}
