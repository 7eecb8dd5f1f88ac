import UsherAPI
import UsherConfig
import UsherCore
import UsherStore

/// Implementation of `owner.list`, `owner.accept` and `owner.forget`.
struct OwnerService: Sendable {
  /// The number of accounts whose tokens are revoked at the same time.
  private static let maxConcurrentRevocations = 8

  let registry: OwnerRegistry
  let engine: FlowEngine
  let repository: AccountRepository
  let revoker: Revoker
  let localAuth: LocalAuthService
  let confirm: ConfirmationService
  let audit: AuditRecorder

  func list(_: OwnerList) async throws(UsherError) -> OwnerList.Reply {
    .init(owners: try await registry.statuses().map { OwnerList.Entry($0) })
  }

  func accept(_ call: OwnerAccept) async throws(UsherError) -> OwnerAccept.Reply {
    .init(uid: call.uid, user: try await registry.accept(person(call.uid)))
  }

  func forget(_ call: OwnerForget, _ caller: Caller) async throws(UsherError) -> OwnerForget.Reply {
    let person = person(call.uid)
    let wiped = try await registry.forget(person) { () throws(UsherError) -> OwnerForget.Reply in
      let flows = try await engine.deleteFlows(of: person.owner)
      let records = try repository.accounts(of: person.owner)
      var notRevoked = 0
      for start in stride(from: 0, to: records.count, by: Self.maxConcurrentRevocations) {
        let some = records[start..<min(start + Self.maxConcurrentRevocations, records.count)]
        notRevoked += try await deleteAccounts(Array(some), for: caller)
      }
      try await localAuth.deleteAll(of: person)
      try await confirm.deleteAll(of: person)
      return .init(uid: call.uid, accounts: records.count, notRevoked: notRevoked, flows: flows)
    }
    var sum = OwnerForget.Reply(uid: call.uid, accounts: 0, notRevoked: 0, flows: 0)
    for part in wiped {
      sum.accounts += part.accounts
      sum.notRevoked += part.notRevoked
      sum.flows += part.flows
    }
    return sum
  }

  /// Deletes accounts and revokes their tokens at the provider.
  ///
  /// - Returns: The number of accounts whose tokens the provider has not revoked yet.
  private func deleteAccounts(
    _ records: [AccountRecord], for caller: Caller
  ) async throws(UsherError) -> Int {
    let results = await withTaskGroup(
      of: Result<RevocationResult?, UsherError>.self
    ) { group in
      for record in records {
        group.addTask {
          await Result(awaiting: { () async throws(UsherError) in
            let result = try await revoker.forget(record, revoke: true, by: .init(caller))
            if result != nil { recordForget(record, caller) }
            return result
          })
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    var notRevoked = 0
    for result in results {
      if try result.get()?.living.isEmpty == false { notRevoked += 1 }
    }
    return notRevoked
  }

  private func recordForget(_ record: AccountRecord, _ caller: Caller) {
    var event = AuditEvent(
      PolicyRequest(OwnerForget.name, about: record), .allowed, rule: "(admin)")
    event.owner = record.owner.uid
    audit.record(event, by: caller.audited)
  }

  private func person(_ uid: UInt32) -> LocalPerson {
    LocalPerson(realm: DaemonSetting.realm, uid: uid)
  }
}

extension OwnerList.Entry {
  fileprivate init(_ status: OwnerRegistry.OwnerStatus) {
    let record = status.record
    let state: State =
      switch status.verdict {
      case _ where record.isBeingForgotten == true: .beingForgotten
      case .same: .same
      case .other: .changed
      case .gone: .gone
      case .unconfirmed, .unknown: .unconfirmed
      }
    self.init(
      uid: status.person.uid, user: record.name, recordedAt: record.recordedAt, state: state,
      now: record.other?.name, changedAt: record.other?.at)
  }
}
