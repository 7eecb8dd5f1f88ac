package import FoundationEssentials
package import UsherCore

/// The owner of stored objects: a user of a host, or a client program if its configuration rule has
/// `owner = "client"`.
package struct Owner: Sendable, Hashable {
  /// The host, whose uids are a namespace of their own.
  package let realm: String
  package let uid: UInt32
  /// The name of the `[[client]]` configuration rule that is the owner; nil if a user is. An empty
  /// name becomes nil.
  package let client: String?

  /// The uid in the owner of objects that a client rule owns, whichever user runs the client:
  /// `(uid_t)-1`, which is not a valid uid.
  package static let anyUser = UInt32.max

  package init(realm: String, uid: UInt32, client: String? = nil) {
    self.realm = realm
    self.uid = uid
    self.client = client?.isEmpty == true ? nil : client
  }
}

/// Bytes that are encrypted before they leave the process. Descriptions and mirrors do not show
/// them.
package struct SealedPayload: Sendable, Hashable {
  package let bytes: [UInt8]

  package init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// Creates a payload from the JSON of a value, as ``StoreCoder`` encodes it.
  package init(encoding value: some Encodable) throws(UsherError) {
    bytes = try StoreCoder.encode(value)
  }

  package func decoded<Value: Decodable>(
    as type: Value.Type = Value.self
  ) throws(UsherError) -> Value {
    try StoreCoder.decode(from: bytes)
  }
}

extension SealedPayload: CustomStringConvertible, CustomReflectable {
  package var description: String { "<sealed payload>" }
  package var customMirror: Mirror { Mirror(self, children: [] as [Mirror.Child]) }
}

/// The stored state of a flow, such as a sign-in.
///
/// Id, owner, provider, kind, status, revision and expiry are stored in the clear, all other
/// members encrypted. All columns are authenticated, so a row that something other than usherd
/// changed does not decrypt.
package struct FlowRow: Sendable, Hashable {
  package var id: FlowID
  package var owner: Owner
  package var provider: ProviderName
  package var kind: String
  package var status: String
  package var revision: Int
  package var expiresAt: Timestamp
  package var state: String
  package var createdAt: Timestamp
  package var updatedAt: Timestamp
  package var requestID: String?
  package var key: String?
  /// The state machine, its step, and the provider's configuration at the start of the flow.
  package var payload: SealedPayload

  package init(
    id: FlowID, owner: Owner, provider: ProviderName, kind: String, status: String, revision: Int,
    state: String, createdAt: Timestamp, updatedAt: Timestamp, expiresAt: Timestamp,
    requestID: String? = nil, key: String? = nil, payload: SealedPayload
  ) {
    self.id = id
    self.owner = owner
    self.provider = provider
    self.kind = kind
    self.status = status
    self.revision = revision
    self.expiresAt = expiresAt
    self.state = state
    self.createdAt = createdAt
    self.updatedAt = updatedAt
    self.requestID = requestID
    self.key = key
    self.payload = payload
  }
}

/// The record of one transition of a flow. It is stored in the clear, so it must contain no secret,
/// and is deleted with its flow.
package struct JournalRow: Sendable, Hashable {
  package var flow: FlowID
  package var revision: Int
  package var state: String
  package var status: String
  package var stepType: String?
  package var at: Timestamp

  package init(
    flow: FlowID, revision: Int, state: String, status: String, stepType: String?, at: Timestamp
  ) {
    self.flow = flow
    self.revision = revision
    self.state = state
    self.status = status
    self.stepType = stepType
    self.at = at
  }
}

/// A `requestId` and the flow that it started, so that a repeated request does not start a second
/// flow. Remembered past the flow's end. Stored in the clear.
package struct RequestRow: Sendable, Hashable {
  package var owner: Owner
  package var provider: ProviderName
  package var requestID: String
  package var flow: FlowID
  /// The time from which the client can use the `requestId` for another flow.
  package var expiresAt: Timestamp

  package init(
    owner: Owner, provider: ProviderName, requestID: String, flow: FlowID, expiresAt: Timestamp
  ) {
    self.owner = owner
    self.provider = provider
    self.requestID = requestID
    self.flow = flow
    self.expiresAt = expiresAt
  }
}

/// The row of an account. Id, owner, provider, `wakeAt` and `callTag` are stored in the clear and
/// authenticated. The subject is encrypted; a keyed hash of it enforces its uniqueness.
package struct AccountRow: Sendable, Hashable {
  package var id: AccountID
  package var owner: Owner
  package var provider: ProviderName
  /// The provider's identifier of the signed-in person; unique per owner and provider.
  package var subject: String
  /// The time at which the daemon must process the account in the background, for example to
  /// refresh its tokens; nil: never.
  ///
  /// ``unknownWakeTime`` in a row that usherd wrote before schema 4.
  package var wakeAt: Timestamp?
  /// The keyed hash by which a callback from the provider finds the account:
  /// ``Store/tag(ofCallKey:at:)``. Nil if no callback can concern the account.
  ///
  /// ``unknownCallTag`` if the tag is unknown, as in a row that usherd wrote before schema 4.
  package var callTag: Data?
  /// Label, attributes, profile and other members, encoded by ``StoreCoder``.
  package var payload: SealedPayload

  /// The value of ``wakeAt`` if the time is unknown. It is the earliest time, so that the daemon
  /// processes the account first.
  package static let unknownWakeTime = Timestamp(milliseconds: 0)

  /// The value of ``callTag`` if the tag is unknown. Any callback from the provider may then
  /// concern the account.
  package static let unknownCallTag = Data()

  package init(
    id: AccountID, owner: Owner, provider: ProviderName, subject: String,
    wakeAt: Timestamp? = nil, callTag: Data? = nil, payload: SealedPayload
  ) {
    self.id = id
    self.owner = owner
    self.provider = provider
    self.subject = subject
    self.wakeAt = wakeAt
    self.callTag = callTag
    self.payload = payload
  }
}

/// The tokens of an account for an audience and a scope. These three are the key of the row.
package struct TokenRow: Sendable, Hashable {
  package var account: AccountID
  /// The audience for which the provider issued the token; empty if there is none.
  package var audience: String
  package var scope: String
  package var expiresAt: Timestamp?
  package var status: String
  /// Access token, refresh token, token type and other members, encoded by ``StoreCoder``.
  package var payload: SealedPayload

  package init(
    account: AccountID, audience: String, scope: String, expiresAt: Timestamp?, status: String,
    payload: SealedPayload
  ) {
    self.account = account
    self.audience = audience
    self.scope = scope
    self.expiresAt = expiresAt
    self.status = status
    self.payload = payload
  }
}

/// A user's consent that a client program may read a part of an account's data. Account, client and
/// grant are the key of the row. The key and the expiry are stored in the clear and authenticated.
package struct ConsentRow: Sendable, Hashable {
  package var account: AccountID
  package var client: String
  /// The provider's name of the readable part: `read.firstname`.
  package var grant: String
  package var expiresAt: Timestamp
  /// The user that granted the consent, the time, and the profile member that the client may read.
  package var payload: SealedPayload

  package init(
    account: AccountID, client: String, grant: String, expiresAt: Timestamp,
    payload: SealedPayload
  ) {
    self.account = account
    self.client = client
    self.grant = grant
    self.expiresAt = expiresAt
    self.payload = payload
  }
}

/// The local authentication record of a user: passcode and lockout. The realm and the uid, which
/// are the key of the row, are stored in the clear.
package struct LocalAuthRow: Sendable, Hashable {
  package var realm: String
  package var uid: UInt32
  /// The hash of the passcode, the number of failed attempts, the lockout and other members.
  package var payload: SealedPayload

  package init(realm: String, uid: UInt32, payload: SealedPayload) {
    self.realm = realm
    self.uid = uid
    self.payload = payload
  }
}

/// A credential of usherd at a provider, such as a client secret. Its name is stored in the clear.
package struct CredentialRow: Sendable, Hashable {
  package var name: String
  package var value: Secret
}

/// A user's remembered answer to the question whether a client program may make a certain call.
/// Realm, uid, client and question are the key of the row. The key and the expiry are stored in the
/// clear and authenticated.
package struct ConfirmationRow: Sendable, Hashable {
  package var realm: String
  package var uid: UInt32
  package var client: String
  /// A hash of the call to which the question refers.
  package var question: String
  package var expiresAt: Timestamp
  /// The whole question with the call that it is about, the user's answer, the client that passed
  /// the answer on, and its time.
  package var payload: SealedPayload

  package init(
    realm: String, uid: UInt32, client: String, question: String, expiresAt: Timestamp,
    payload: SealedPayload
  ) {
    self.realm = realm
    self.uid = uid
    self.client = client
    self.question = question
    self.expiresAt = expiresAt
    self.payload = payload
  }
}

/// A small value of the daemon, such as the audit log's head. Its name is stored in the clear.
package struct NoteRow: Sendable, Hashable {
  package var name: String
  package var payload: SealedPayload

  package init(name: String, payload: SealedPayload) {
    self.name = name
    self.payload = payload
  }
}
