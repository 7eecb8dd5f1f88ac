import UsherAPI
import UsherConfig
import UsherCore

/// `system.reload`.
struct ReloadDesk: Sendable {
  let safe: Safe

  func reload(_ caller: Caller) async throws(UsherError) -> SystemReload.Reply {
    let desk = FrontCalls(safe.life)
    let permit = try desk.permit(SystemReload.name, caller)
    try safe.life.audit.admit()
    let problems: [ConfigProblem]
    do throws(UsherError) {
      problems = try await Reload(safe: safe).run()
    } catch {
      throw desk.noted(error, SystemReload.name, permit, caller)
    }
    desk.note(SystemReload.name, permit, caller, failure: problems.isEmpty ? nil : .invalidParams)
    return .init(problems: problems.map { .init($0) })
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
