package import FoundationEssentials
package import UsherCore

/// Whose a thing is: a person on a host, or one client of theirs where a rule says so.
package struct Owner: Sendable, Hashable {
  /// The host, later the fleet.
  package let realm: String
  package let uid: UInt32
  /// The `[[client]]` that owns it alone. Never empty: an empty name is nil.
  package let client: String?

  /// Stands for the user where a client owns a thing, whichever user it runs as: `(uid_t)-1`, which
  /// nobody is.
  package static let anyUser = UInt32.max

  package init(realm: String, uid: UInt32, client: String? = nil) {
    self.realm = realm
    self.uid = uid
    self.client = client?.isEmpty == true ? nil : client
  }
}

/// Bytes that leave the process only sealed. They do not print.
package struct SealedPayload: Sendable, Hashable {
  package let bytes: [UInt8]

  package init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// A payload of the value's JSON, written by ``StoreCoder``.
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

/// One flow as it stands after an event.
///
/// In the clear on disk: id, owner, provider, kind, status, revision and expiry. Everything is
/// authenticated, so a row that was changed by anybody else does not open.
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
  /// The machine, its step, the provider's configuration it began with.
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

/// One transition of a flow. In the clear on disk: it must hold no secret. It goes with its flow.
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

/// A `requestId` and the flow it started, remembered past the flow's end. In the clear on disk.
package struct RequestRow: Sendable, Hashable {
  package var owner: Owner
  package var provider: ProviderName
  package var requestID: String
  package var flow: FlowID
  /// From this moment on the `requestId` may be used again.
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

/// One account. On disk its subject is sealed; a keyed hash of it keeps it unique. Id, owner, provider,
/// when it wakes and by what it is called are in the clear, and authenticated.
package struct AccountRow: Sendable, Hashable {
  package var id: AccountID
  package var owner: Owner
  package var provider: ProviderName
  /// Who it is at the provider; unique per owner and provider.
  package var subject: String
  /// When the daemon has to look at it though nobody asks, at the earliest; nil: never.
  ///
  /// ``unknownWaking`` in a row that an older usherd wrote.
  package var wakeAt: Timestamp?
  /// By what the calls of its provider find it: ``Store/tag(ofCallKey:at:)``; nil: none is about it.
  ///
  /// ``unknownCallTag`` where that is not known, and in a row that an older usherd wrote.
  package var callTag: Data?
  /// Label, attributes, profile, …
  package var payload: SealedPayload

  /// When a row wakes of which that is not known: before anything else.
  package static let unknownWaking = Timestamp(milliseconds: 0)

  /// Of a row that any call of its provider may be about.
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

/// The tokens of one account for one audience and scope; the three are its key.
package struct TokenRow: Sendable, Hashable {
  package var account: AccountID
  /// Empty where there is none.
  package var audience: String
  package var scope: String
  package var expiresAt: Timestamp?
  package var status: String
  /// Access token, refresh token, type, …
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

/// What the person of an account agreed that one client be told; account, client and grant are its
/// key. These and the expiry are in the clear on disk, and authenticated.
package struct ConsentRow: Sendable, Hashable {
  package var account: AccountID
  package var client: String
  /// The provider's word: `read.firstname`.
  package var grant: String
  package var expiresAt: Timestamp
  /// Who granted it, when, and what it opens.
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

/// By what one user proves to be at this host. Realm and uid, its key, are in the clear on disk.
package struct LocalAuthRow: Sendable, Hashable {
  package var realm: String
  package var uid: UInt32
  /// The passcode's hash, misses, lock-out, …
  package var payload: SealedPayload

  package init(realm: String, uid: UInt32, payload: SealedPayload) {
    self.realm = realm
    self.uid = uid
    self.payload = payload
  }
}

/// One provider credential. The name is in the clear on disk.
package struct CredentialRow: Sendable, Hashable {
  package var name: String
  package var value: Secret

  package init(name: String, value: Secret) {
    self.name = name
    self.value = value
  }
}

/// What a person answered to one client's question, for as long as it is remembered. Realm, uid,
/// client and question are its key; these and the expiry are in the clear on disk, authenticated.
package struct ConfirmationRow: Sendable, Hashable {
  package var realm: String
  package var uid: UInt32
  package var client: String
  /// What the question is about, in a form that is the same each time.
  package var question: String
  package var expiresAt: Timestamp
  /// The answer, who gave it and when.
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

/// A small value of the daemon's own. The name is in the clear on disk.
package struct NoteRow: Sendable, Hashable {
  package var name: String
  package var payload: SealedPayload

  package init(name: String, payload: SealedPayload) {
    self.name = name
    self.payload = payload
  }
}
