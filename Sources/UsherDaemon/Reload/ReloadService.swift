import UsherAPI
import UsherConfig
import UsherCore

/// Implementation of `system.reload`.
struct ReloadService: Sendable {
  let lockController: LockController

  func reload(_ call: AuthorizedCall) async throws(UsherError) -> SystemReload.Reply {
    try lockController.processContext.audit.admit()
    let problems: [ConfigProblem]
    do throws(UsherError) {
      problems = try await Reload(lockController: lockController).run()
    } catch {
      throw call.failed(error)
    }
    call.succeeded(with: problems.isEmpty ? nil : .invalidParams)
    return .init(problems: problems)
  }
}

extension SystemReload.Reply {
  /// The maximum number of problems that the reply of `system.reload` lists one by one.
  static let maxReported = 100

  fileprivate init(problems: [ConfigProblem]) {
    let more = problems.count - Self.maxReported
    let reported = problems.prefix(Self.maxReported).map { SystemReload.Problem($0) }
    self.init(problems: reported + (more > 0 ? [.init(message: "and \(more) more problems")] : []))
  }
}

extension SystemReload.Problem {
  fileprivate init(_ problem: ConfigProblem) {
    self.init(
      file: problem.file.isEmpty ? nil : problem.file,
      line: problem.line == 0 ? nil : problem.line,
      column: problem.column == 0 ? nil : problem.column,
      key: problem.key.isEmpty ? nil : problem.key, message: problem.message)
  }
}
