package import UsherAPI
import UsherConfig

// The descriptions of all flows, for the OpenRPC document.

extension ProviderRegistry {
  /// The flows of all varieties of provider.
  package static var descriptions: [FlowDescription] {
    ProviderVariety.allCases.flatMap { variety in
      flows(of: variety).map { description(of: $0, variety) }
    }
  }

  private static func description<Machine: FlowMachine>(
    of type: Machine.Type, _ variety: ProviderVariety
  ) -> FlowDescription {
    let names = variety.rawValue.split(separator: "/", maxSplits: 1).map(String.init)
    return FlowDescription(
      providerType: names[0], mode: names.count > 1 ? names[1] : nil, kind: type.kind,
      summary: type.summary, params: StrictDecoding.documentedSchema(of: Machine.Params.self),
      result: .object(type.resultMembers), example: type.example)
  }
}

// Result members that several flows share.
extension Schema.Member {
  package static var account: Schema.Member {
    .init("account", .text, "The id of the account that the flow created or updated.")
  }

  static var granted: Schema.Member {
    .init("granted", .array(of: .text), "The granted fields, such as `read.firstname`.")
  }

  static var profile: Schema.Member {
    .init("profile", .map(of: .anything), "The granted data of the user, by the provider's names.")
  }

  static var userKey: Schema.Member { .init("userKey", .text, "The user's id.") }

  static var deviceID: Schema.Member {
    .init("deviceId", .text, "The id of this machine's device at the provider.")
  }

  static var totpProblem: Schema.Member {
    .init(
      "totpProblem", .text, "Why the account has no one-time codes; absent if it has them.",
      isRequired: false)
  }
}
