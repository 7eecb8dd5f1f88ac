import UsherClient
import UsherConfig

/// The error of a failed command: its message lines and its exit status.
struct CommandFailure: Error, Equatable {
  var lines: [String]
  var status: Status

  /// The exit statuses of usherctl.
  enum Status: Int32 {
    case failed = 1
    case flowFailed = 3
    case usage = 64
    case unreachable = 69
    case tryAgain = 75
    case notPermitted = 77
    case interrupted = 130
  }

  /// A failure without a message, for a command that has already printed everything.
  static let silent = CommandFailure(lines: [], status: .failed)
}

extension CommandFailure {
  /// Creates a failure.
  ///
  /// - Parameter hints: The next steps for the person, one per line.
  init(_ message: String, hints: [String] = [], status: Status = .failed) {
    self.init(lines: ["usherctl: \(message)"] + hints, status: status)
  }

  /// Creates a failure from an error; nil if ArgumentParser has to report the error.
  init?(_ error: any Error) {
    switch error {
    case let failure as CommandFailure: self = failure
    case let error as UsherError: self.init(error)
    case let problem as ConnectionError: self.init(problem)
    case let ended as EventsEnded: self.init("\(ended)", status: .unreachable)
    case let error as ConfigError:
      self.init(lines: error.problems.map { "usherctl: \($0)" }, status: .failed)
    case is CancellationError: self.init("interrupted", status: .interrupted)
    default: return nil
    }
  }

  private init(_ error: UsherError) {
    let other: Status = error.isRetryable ? .tryAgain : .failed
    self.init(
      error.message, hints: Self.hints(error),
      status: error.reason == .permissionDenied ? .notPermitted : other)
  }

  private init(_ problem: ConnectionError) {
    let status =
      switch problem.kind {
      case .noSocket, .refused, .busy, .lost, .closed, .badPath, .other: Status.unreachable
      case .notPermitted: Status.notPermitted
      case .garbled, .replyTooLarge, .incompatible: Status.failed
      }
    self.init(problem.message, hints: problem.hint.map { [$0] } ?? [], status: status)
  }

  private static func hints(_ error: UsherError) -> [String] {
    let detail = error.detail
    var hints: [String] = []
    if let provider = detail.provider { hints.append(provider.sentence) }
    if let field = detail.field, !error.message.hasPrefix(field) { hints.append("field: \(field)") }
    if let limit = detail.limit { hints.append("the limit is \(limit)") }
    if let pause = detail.retryAfterMs {
      hints.append("try again in \(Duration.milliseconds(pause).text)")
    }
    if let next = detail.next { hints.append("try: \(next.command)") }
    if let question = detail.confirmation {
      hints.append("to allow it, run: usherctl confirm allow \(question)")
    }
    if let flow = detail.flow { hints.append("see: usherctl flow show \(flow)") }
    return hints
  }
}

extension ProviderErrorCode {
  /// The provider's error as a sentence, such as `work said: access_denied: …`.
  var sentence: String {
    let parts = [code, title, message].compactMap(\.self)
    return "\(name) said: \(parts.joined(separator: ": "))"
  }
}

extension UsherError.NextFlow {
  /// The usherctl command that runs the flow which the daemon suggests.
  var command: String {
    let (verb, option) =
      switch kind {
      case "authorize": ("login \(provider)", "--account ")
      case "device": ("login \(provider) --kind device", "--account ")
      default: ("flow run \(provider) \(kind)", "--param account=")
      }
    return "usherctl \(verb)" + (account.map { " \(option)\($0)" } ?? "")
      + grants.map { " --grant \($0)" }.joined() + (arguments.isEmpty ? "" : " --params \(quoted)")
  }

  /// The parameters of the flow that the daemon suggests, without account and grants, which have
  /// options of their own.
  var params: JSONValue { .object(arguments.mapValues(\.json)) }

  /// The parameters as one shell word. A single JSON object keeps their types, even if usherctl
  /// cannot get the flow's schema.
  private var quoted: String {
    let text = String(decoding: params.encoded(), as: UTF8.self)
    return "'\(text.replacing("'", with: "'\\''"))'"
  }
}

extension Duration {
  /// The duration as text, rounded up to the second: `45 s`, `3 min`, `2 h 5 min`, `4 d 1 h`.
  var text: String {
    let (whole, rest) = components
    let seconds = max(0, whole + (rest > 0 ? 1 : 0))
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86400)
    if days > 0 { return Self.text(days, "d", hours % 24, "h") }
    if hours > 0 { return Self.text(hours, "h", minutes % 60, "min") }
    return minutes > 0 ? Self.text(minutes, "min", seconds % 60, "s") : "\(seconds) s"
  }

  private static func text(_ more: Int64, _ unit: String, _ less: Int64, _ part: String) -> String {
    less == 0 ? "\(more) \(unit)" : "\(more) \(unit) \(less) \(part)"
  }
}
