import Glibc
import UsherHelpers

/// Answers a tool that asks for credentials.
@main enum UsherHelper {
  static func main() {
    // A token in memory must not get into a core file.
    var none = rlimit(rlim_cur: 0, rlim_max: 0)
    setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
    // A tool that no longer reads is an error of write(2).
    signal(SIGPIPE, SIG_IGN)
    exit(run(CommandLine.arguments))
  }

  private static func run(_ commandLine: [String]) -> Int32 {
    guard let (tool, arguments) = Tool.find(commandLine) else { return help(commandLine) }
    guard write(tool.contract.greeting, to: STDOUT_FILENO) else { return 1 }
    let form = tool.contract.input(arguments)
    var input = StandardInput()
    var call = ToolCall(
      arguments: arguments, environment: environment(tool.contract.variables),
      isOutputPipe: isPipe(STDOUT_FILENO))
    var status: Int32 = 0
    repeat {
      let deadline = Deadline(seconds: seconds)
      switch input.read(form, until: deadline) {
      case .bytes(let bytes): call.input = bytes
      case .end: return status
      case .failed(let message): return complain(tool, message)
      }
      let reply = self.reply(tool.contract, call, deadline)
      if let message = reply.message { _ = complain(tool, message) }
      guard write(reply.output, to: STDOUT_FILENO) else { return 1 }
      status = reply.status
    } while form == .lines
    return status
  }

  private static func reply(
    _ contract: any ToolContract.Type, _ call: ToolCall, _ deadline: Deadline
  ) -> ToolReply {
    switch contract.step(call) {
    case .reply(let reply): return reply
    case .ask(let request):
      let line = DaemonCall.send(request.line, to: socketPath, until: deadline)
      return contract.reply(call, to: line.flatMap { request.answer(in: $0) })
    }
  }

  private static func help(_ commandLine: [String]) -> Int32 {
    switch commandLine.dropFirst().first {
    case "--help", "-h": return write(Tool.usage, to: STDOUT_FILENO) ? 0 : 1
    case "--version": return write("\(HelperVersion.current)\n", to: STDOUT_FILENO) ? 0 : 1
    default:
      _ = write(Tool.usage, to: STDERR_FILENO)
      return EX_USAGE
    }
  }

  private static func complain(_ tool: Tool, _ message: String) -> Int32 {
    _ = write("usher-helper \(tool.name): \(message)\n", to: STDERR_FILENO)
    return 1
  }
}

// MARK: - The environment

extension UsherHelper {
  private static func environment(_ names: [String]) -> [String: String] {
    var values: [String: String] = [:]
    for name in names { values[name] = variable(name) }
    return values
  }

  private static func variable(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }
  }

  /// How long a call may take. A tool waits no longer for its credentials than for a server.
  private static var seconds: Int {
    let seconds = variable("USHER_HELPER_SECONDS").flatMap { Int($0) } ?? 10
    return min(max(seconds, 1), 120)
  }

  private static var socketPath: String {
    DaemonSocket.path(
      explicitPath: variable("USHER_SOCKET"), runtimeDirectory: variable("XDG_RUNTIME_DIR"),
      isRoot: geteuid() == 0, systemExists: access(DaemonSocket.system, F_OK) == 0)
  }

  private static func isPipe(_ descriptor: Int32) -> Bool {
    var status = stat()
    return fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO
  }
}
