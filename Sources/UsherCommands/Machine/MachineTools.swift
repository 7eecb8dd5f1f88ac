import Glibc
package import UsherCore

/// Runs the system programs that are found in `PATH`.
package struct MachineTools: Tools {
  private let folders: [String]

  /// Creates the runner.
  ///
  /// - Parameter environment: The environment with `PATH`. Relative directories in it are ignored.
  package init(environment: [String: String]) {
    let path = environment["PATH"] ?? "/usr/sbin:/usr/bin:/sbin:/bin"
    folders = path.split(separator: ":").map(String.init).filter { $0.hasPrefix("/") }
  }

  package func path(of name: String) -> String? {
    folders.lazy.map { "\($0)/\(name)" }.first { access($0, X_OK) == 0 }
  }

  package func run(
    _ program: String, _ arguments: [String], input: Secret, within limit: Duration
  ) async throws -> ToolEnding {
    let ending = try await ProgramRun.run(
      [program] + arguments, input: input, readsErrors: true, within: limit)
    let name = program.split(separator: "/").last ?? program[...]
    let (status, outputs) =
      switch ending {
      case .exited(let status, let outputs): (status, outputs)
      case .killed(let signal, let outputs): (128 + signal, outputs)
      case .timedOut, .outputTooLong:
        throw CommandFailure("\(name) ran too long or printed too much")
      }
    return ToolEnding(
      status: status, output: outputs[0], errors: String(decoding: outputs[1], as: UTF8.self))
  }
}
