package import UsherCore

/// A change of the stored data. Changes of one ``Store/commit(_:)`` are made together or not at
/// all.
///
/// A `put` inserts a row or replaces the whole row. Deleting a missing row changes nothing.
package enum Change: Sendable {
  case putFlow(FlowRow)
  /// Fails with `not_found` unless the flow is stored already or earlier in the same commit.
  case appendJournal(JournalRow)
  /// Deletes the flow with its journal. Its `requestId` stays remembered.
  case deleteFlow(FlowID)
  /// Fails with ``Conflict/request(_:)`` if the owner has already used this `requestId` at the
  /// provider and it has not expired.
  case rememberRequest(RequestRow)
  /// Deletes the remembered requests that expired at this time or before.
  case forgetRequests(expiredBy: Timestamp)
  /// Deletes all remembered requests of an owner.
  case forgetAllRequests(of: Owner)
  /// Fails with ``Conflict/account(_:)`` if another account has this owner, provider and subject.
  case putAccount(AccountRow)
  /// Deletes the account with its tokens and consents.
  case deleteAccount(AccountID)
  /// Fails with `not_found` unless the account is stored already or earlier in the same commit.
  case putToken(TokenRow)
  case deleteToken(AccountID, audience: String, scope: String)
  case deleteTokens(AccountID)
  /// Fails with `not_found` unless the account is stored already or earlier in the same commit.
  case putConsent(ConsentRow)
  case deleteConsent(AccountID, client: String, grant: String)
  case putLocalAuth(LocalAuthRow)
  case deleteLocalAuth(realm: String, uid: UInt32)
  case putCredential(String, Secret)
  case deleteCredential(String)
  case putConfirmation(ConfirmationRow)
  case deleteConfirmation(realm: String, uid: UInt32, client: String, question: String)
  /// Deletes the confirmations that expired at this time or before.
  case forgetConfirmations(expiredBy: Timestamp)
  case putOwner(OwnerRow)
  case deleteOwner(realm: String, uid: UInt32)
  case putNote(NoteRow)
  case deleteNote(String)
}

extension [Change] {
  /// The owners of the objects that the changes create: accounts, passcodes, confirmation answers
  /// and flows.
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

  /// Whether the changes contain the first journal row of the flow: the flow is new.
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

/// The `cause` of an `UsherError` that a commit throws because an object exists already.
package enum Conflict: Error, Equatable {
  /// This flow was started with the same `requestId`. The error is `request_id_reused`, with the
  /// flow in its `detail`.
  case request(FlowID)
  /// Another account, with this id, has the same owner, provider and subject as the one that was to
  /// be stored. The error is `conflict`.
  case account(AccountID)
}

extension Conflict {
  var error: UsherError {
    switch self {
    case .request(let flow):
      UsherError(
        .requestIDReused, "this requestId has already started flow \(flow): choose a new one",
        detail: UsherError.Detail(field: "requestId", flow: flow), cause: self)
    case .account(let account):
      UsherError(
        .conflict, "account \(account) of the same person is already stored: try again",
        cause: self)
    }
  }
}
