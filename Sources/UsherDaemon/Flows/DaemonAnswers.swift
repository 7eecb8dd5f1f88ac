import UsherConfig
import UsherCore
import UsherFlows

/// Answers what flows ask of the daemon itself.
struct DaemonAnswers: Sendable {
  let accounts: AccountRepository
  let localAuth: LocalAuthAnswers
  let totp: TOTPService
  let dependencies: Dependencies

  /// Begins to answer and returns; `report` gets what there is to tell.
  func answer(
    _ question: DaemonQuestion, _ session: FlowSession,
    report: @escaping @Sendable (EngineEvent) -> Void
  ) {
    switch question {
    case .localAuth(let question):
      localAuth.answer(question, session) { report(.told(.localAuth($0))) }
    case .consents(let account): report(.told(.consents(consents(session, account))))
    case .presence(let account):
      let isThere = (try? accounts.account(account, of: session.owner)) != nil
      report(.told(.presence(isThere)))
    case .oneTimeCode(let account):
      Task(executorPreference: dependencies.executor) {
        report(.told(.oneTimeCode(await totp.answer(account, session))))
      }
    }
  }

  /// What the flow's client was granted of an account; nothing of one that is not its owner's.
  private func consents(_ session: FlowSession, _ account: AccountID) -> Set<String> {
    guard let record = try? accounts.account(account, of: session.owner),
      record.provider == session.provider
    else { return [] }
    return record.consents.grants(
      of: session.client ?? CallerPolicy.ownPrograms, at: dependencies.clock.now())
  }
}
