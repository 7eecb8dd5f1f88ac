/// The handling of access tokens that can be neither refreshed nor revoked.
///
/// It is used for Truecaller and BSA, for which no endpoint to do so is known, and for the provider
/// `local`, which issues no tokens.
struct PlainTokens: TokenDialect {}
