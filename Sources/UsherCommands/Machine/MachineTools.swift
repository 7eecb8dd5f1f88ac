import Glibc
package import UsherCore

/// Runs the programs of this machine that `PATH` leads to.
package struct MachineTools: Tools {
  private let folders: [String]

  /// - Parameter environment: Supplies `PATH`, of which relative directories are ignored.
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
    switch ending {
    case .exited(let status, let outputs): return ToolEnding(status, outputs)
    case .killed(let signal, let outputs): return ToolEnding(128 + signal, outputs)
    case .outOfTime, .outputTooLong:
      let name = program.split(separator: "/").last ?? program[...]
      throw CommandFailure("\(name) ran too long or printed too much")
    }
  }
}

extension ToolEnding {
  fileprivate init(_ status: CInt, _ outputs: [[UInt8]]) {
    self.init(
      status: status, output: outputs[0], errors: String(decoding: outputs[1], as: UTF8.self))
  }
}
