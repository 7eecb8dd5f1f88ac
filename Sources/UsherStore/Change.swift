package import UsherCore

/// One change of what is stored. Several of them make a commit: all or none.
///
/// A `put` inserts or replaces the whole row. Deleting what is not there changes nothing.
package enum Change: Sendable {
  case putFlow(FlowRow)
  /// The flow must be stored, earlier in the same commit at the latest: else `not_found`.
  case appendJournal(JournalRow)
  /// Deletes the journal of the flow too; a remembered request stays.
  case deleteFlow(FlowID)
  /// Fails with ``Conflict/request(_:)`` while the same owner and provider have this `requestId`.
  case rememberRequest(RequestRow)
  /// Forgets the requests that expired at this moment or before.
  case forgetRequests(expiredBy: Timestamp)
  /// Forgets the requests of an owner, expired or not.
  case forgetAllRequests(of: Owner)
  /// Fails with ``Conflict/account(_:)`` when another account has this owner, provider, subject.
  case putAccount(AccountRow)
  /// Deletes the tokens and the consents of the account too.
  case deleteAccount(AccountID)
  /// The account must be stored, earlier in the same commit at the latest: else `not_found`.
  case putToken(TokenRow)
  case deleteToken(AccountID, audience: String, scope: String)
  case deleteTokens(AccountID)
  /// The account must be stored, earlier in the same commit at the latest: else `not_found`.
  case putConsent(ConsentRow)
  case deleteConsent(AccountID, client: String, grant: String)
  case putLocalAuth(LocalAuthRow)
  case deleteLocalAuth(realm: String, uid: UInt32)
  case putCredential(String, Secret)
  case deleteCredential(String)
  case putConfirmation(ConfirmationRow)
  case deleteConfirmation(realm: String, uid: UInt32, client: String, question: String)
  /// Forgets the confirmations that expired at this moment or before.
  case forgetConfirmations(expiredBy: Timestamp)
  case putOwner(OwnerRow)
  case deleteOwner(realm: String, uid: UInt32)
  case putNote(NoteRow)
  case deleteNote(String)
}

extension [Change] {
  /// Whose the accounts, passcodes and answers are that are stored, and the flows that begin.
  var owners: [Owner] {
    compactMap { change in
      switch change {
      case .putFlow(let row): begins(row.id) ? row.owner : nil
      case .putAccount(let row): row.owner
      case .putLocalAuth(let row): Owner(realm: row.realm, uid: row.uid)
      case .putConfirmation(let row): Owner(realm: row.realm, uid: row.uid)
      default: nil
      }
    }
  }

  /// Whether the first row of the flow's journal is written.
  private func begins(_ flow: FlowID) -> Bool {
    contains { change in
      if case .appendJournal(let row) = change {
        row.flow == flow && row.revision == 1
      } else {
        false
      }
    }
  }
}

/// Why a commit was refused: what it would add exists. It is the `cause` of the `UsherError`.
package enum Conflict: Error, Equatable {
  /// The flow that was started with this `requestId`; `request_id_reused`, flow in `detail`.
  case request(FlowID)
  /// The account that has this subject; `conflict`.
  case account(AccountID)
}

extension Conflict {
  var error: UsherError {
    switch self {
    case .request(let flow):
      UsherError(
        .requestIDReused, "this requestId has already started a flow",
        detail: UsherError.Detail(field: "requestId", flow: flow), cause: self)
    case .account:
      UsherError(.conflict, "this person's account is already stored", cause: self)
    }
  }
}
