package import UsherCore

/// Runs the shell command lines that the user passes in options, with `/bin/sh`.
package struct Shell: Programs {
  package init() {}

  package func run(
    _ command: String, input: Secret, within limit: Duration
  ) async throws -> CommandEnding {
    switch try await ProgramRun.run(["/bin/sh", "-c", command], input: input, within: limit) {
    case .exited(status: 0, let outputs):
      .done(output: Secret(String(validating: outputs[0], as: UTF8.self) ?? ""))
    case .exited(let status, _): .failed(status: status)
    case .killed(let signal, _): .killed(signal: signal)
    case .timedOut: .timedOut
    case .outputTooLong: .outputTooLong
    }
  }
}
