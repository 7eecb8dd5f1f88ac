import ArgumentParser
import UsherClient
import UsherConfig

struct ReloadVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "reload", abstract: "Reload usherd's configuration.",
    discussion: """
      Uses the admin socket. If there are errors, prints them, changes nothing, and exits with 1. \
      Settings that need a restart are reported as errors.
      """)

  @OptionGroup var options: GlobalOptions

  func run(at context: CommandContext) async throws {
    let reply = try await context.show(SystemReload()) { reply in
      guard reply.problems.isEmpty else { throw ConfigError(reply.problems.map { .init($0) }) }
      context.console.printMessage("reloaded")
    }
    if !reply.problems.isEmpty { throw CommandFailure.silent }
  }
}

extension ConfigProblem {
  fileprivate init(_ problem: SystemReload.Problem) {
    self.init(
      file: problem.file ?? "", line: problem.line ?? 0, column: problem.column ?? 0,
      key: problem.key ?? "", message: problem.message)
  }
}
