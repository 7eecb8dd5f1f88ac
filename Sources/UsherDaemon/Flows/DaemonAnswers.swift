import UsherConfig
import UsherCore
import UsherFlows

/// Answers flows' questions to the daemon itself.
struct DaemonAnswers: Sendable {
  let accounts: AccountRepository
  let localAuth: LocalAuthAnswers
  let totp: TOTPService
  let dependencies: Dependencies

  /// Starts to answer and returns; `report` receives the answer.
  func answer(
    _ question: DaemonQuestion, _ flow: LiveFlow, report: @escaping @Sendable (EngineEvent) -> Void
  ) {
    switch question {
    case .localAuth(let question):
      localAuth.answer(question, flow) { report(.daemon(.answered(.localAuth($0)))) }
    case .consents(let account): report(.daemon(.answered(.consents(consents(flow, account)))))
    case .presence(let account):
      let isThere = (try? accounts.account(account, of: flow.owner)) != nil
      report(.daemon(.answered(.presence(isThere))))
    case .oneTimeCode(let account):
      Task(executorPreference: dependencies.executor) {
        report(.daemon(.answered(.oneTimeCode(await totp.answer(account, flow)))))
      }
    }
  }

  /// Returns the grants that the flow's client holds for an account; empty if the account is not
  /// the owner's or belongs to another provider.
  private func consents(_ flow: LiveFlow, _ account: AccountID) -> Set<String> {
    guard let record = try? accounts.account(account, of: flow.owner),
      record.provider == flow.provider
    else { return [] }
    return record.consents.grants(
      of: flow.client ?? CallerPolicy.ownPrograms, at: dependencies.clock.now())
  }
}
