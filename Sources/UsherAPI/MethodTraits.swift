public import JSONRPC

/// What the daemon, its policy, its audit and its clients have to know of a method beside its
/// parameters. No other list of methods has to be kept in step with it.
public struct MethodTraits: Sendable, Hashable {
  /// The sockets that offer the method.
  public var access: Access
  /// Who may call the method if no rule of the policy decides.
  public var audience: Audience
  /// Whether a client may send a call again if the daemon may have begun it.
  public var repetition: Repetition
  /// The decisions that the audit records.
  public var audit: AuditScope
  /// Whether a rule with `confirm = true` has a person asked before the call runs.
  public var isConfirmable: Bool
  /// Whether the reply lets its holder act as the owner of the account.
  public var handsOutSecret: Bool
  /// Whether the reply has members of a person's profile, which a rule's `fields` limits.
  public var showsProfiles: Bool
  /// Whether a rule's `share` offers the method to the rule that it names.
  public var readsSharedAccounts: Bool
  /// Whether the right to start a flow includes the method for that flow.
  public var followsFlowStart: Bool
  /// Whether the method is answered while the daemon is locked.
  public var worksLocked: Bool

  public init(
    access: Access, audience: Audience = .allowedCallers, repetition: Repetition = .never,
    audit: AuditScope = .denials, isConfirmable: Bool = false, handsOutSecret: Bool = false,
    showsProfiles: Bool = false, readsSharedAccounts: Bool = false,
    followsFlowStart: Bool = false, worksLocked: Bool = false
  ) {
    self.access = access
    self.audience = audience
    self.repetition = repetition
    self.audit = audit
    self.isConfirmable = isConfirmable
    self.handsOutSecret = handsOutSecret
    self.showsProfiles = showsProfiles
    self.readsSharedAccounts = readsSharedAccounts
    self.followsFlowStart = followsFlowStart
    self.worksLocked = worksLocked
  }

  /// The traits of a name that no method has.
  public static let unknown = MethodTraits(access: .app)

  /// Who may call a method if no rule of the policy decides.
  public enum Audience: Sendable, Hashable {
    /// Callers whom the policy lets call it.
    case allowedCallers
    /// Every caller that can connect.
    case everybody
    /// The operator, and callers that a rule names.
    case operators
  }

  /// Whether a call that the daemon may have begun can be sent again without doing harm.
  public enum Repetition: Sendable, Hashable {
    case always, never
    /// If the call has this member.
    case ifGiven(String)
    /// Unless this member is true.
    case unlessTrue(String)

    /// - Parameter params: The parameters of the call.
    public func allows(_ params: JSONValue) -> Bool {
      switch self {
      case .always: true
      case .never: false
      case .ifGiven(let member): params[member]?.stringValue != nil
      case .unlessTrue(let member): params[member]?.boolValue != true
      }
    }
  }

  /// The decisions on a method that the audit records.
  public enum AuditScope: Sendable, Hashable {
    /// Those that refuse a caller.
    case denials
    /// Each. The method is refused while the audit cannot take more.
    case everything
    /// As `everything`, but successful calls that are alike share a row.
    case everythingAggregated
  }
}

/// The methods of the socket's contract.
public enum Methods {
  /// Every method, by name.
  public static let all: [any Method.Type] = [
    AccountForget.self, AccountGet.self, AccountList.self, AuditList.self, AuditVerify.self,
    ClientClear.self, ConfirmAnswer.self, ConfirmForget.self, ConfirmList.self, ConsentList.self,
    ConsentRevoke.self, CredentialDelete.self, CredentialList.self, CredentialSet.self,
    EventsSubscribe.self, EventsUnsubscribe.self, FlowCancel.self, FlowGet.self, FlowList.self,
    FlowStart.self, FlowSubmit.self, FlowWait.self, KeyCreateRecovery.self,
    LocalAuthSetPasscode.self, LocalAuthStatus.self, OwnerAccept.self, OwnerForget.self,
    OwnerList.self, PolicyCheck.self, PolicyList.self, ProviderCheck.self, ProviderGet.self,
    ProviderList.self, RegistrationCheckDuplicate.self, RegistrationCheckUserKey.self,
    RPCCancel.self, RPCDiscover.self, RPCHello.self, SystemBackup.self, SystemLock.self,
    SystemReload.self, SystemStatus.self, SystemUnlock.self, TokenGet.self, TokenList.self,
    TokenRevoke.self, TOTPCode.self, TOTPList.self,
  ]

  private static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0.traits) })

  /// Whether a socket offers a method. Names are compared by their bytes: to Swift's strings U+212A
  /// (KELVIN SIGN) is a K.
  public static func has(_ name: String, isAdmin: Bool) -> Bool {
    all.contains { method in
      method.name.utf8.elementsEqual(name.utf8) && (method.access == .app || isAdmin)
    }
  }

  /// Returns the traits of a method; ``MethodTraits/unknown`` if no method has the name.
  public static func traits(of name: String) -> MethodTraits {
    byName[name] ?? .unknown
  }
}
