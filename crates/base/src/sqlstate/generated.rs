// Generated from data/sqlstates.tsv by `cargo xtask codegen`. Do not edit.

use super::SqlState;

impl SqlState {
    /// `00000`
    pub const SUCCESSFUL_COMPLETION: SqlState = SqlState(*b"00000");
    /// `01000`
    pub const WARNING: SqlState = SqlState(*b"01000");
    /// `0100C`
    pub const WARNING_DYNAMIC_RESULT_SETS_RETURNED: SqlState = SqlState(*b"0100C");
    /// `01008`
    pub const WARNING_IMPLICIT_ZERO_BIT_PADDING: SqlState = SqlState(*b"01008");
    /// `01003`
    pub const WARNING_NULL_VALUE_ELIMINATED_IN_SET_FUNCTION: SqlState = SqlState(*b"01003");
    /// `01007`
    pub const WARNING_PRIVILEGE_NOT_GRANTED: SqlState = SqlState(*b"01007");
    /// `01006`
    pub const WARNING_PRIVILEGE_NOT_REVOKED: SqlState = SqlState(*b"01006");
    /// `01004`
    pub const WARNING_STRING_DATA_RIGHT_TRUNCATION: SqlState = SqlState(*b"01004");
    /// `01P01`
    pub const WARNING_DEPRECATED_FEATURE: SqlState = SqlState(*b"01P01");
    /// `02000`
    pub const NO_DATA: SqlState = SqlState(*b"02000");
    /// `02001`
    pub const NO_ADDITIONAL_DYNAMIC_RESULT_SETS_RETURNED: SqlState = SqlState(*b"02001");
    /// `03000`
    pub const SQL_STATEMENT_NOT_YET_COMPLETE: SqlState = SqlState(*b"03000");
    /// `08000`
    pub const CONNECTION_EXCEPTION: SqlState = SqlState(*b"08000");
    /// `08003`
    pub const CONNECTION_DOES_NOT_EXIST: SqlState = SqlState(*b"08003");
    /// `08006`
    pub const CONNECTION_FAILURE: SqlState = SqlState(*b"08006");
    /// `08001`
    pub const SQLCLIENT_UNABLE_TO_ESTABLISH_SQLCONNECTION: SqlState = SqlState(*b"08001");
    /// `08004`
    pub const SQLSERVER_REJECTED_ESTABLISHMENT_OF_SQLCONNECTION: SqlState = SqlState(*b"08004");
    /// `08007`
    pub const TRANSACTION_RESOLUTION_UNKNOWN: SqlState = SqlState(*b"08007");
    /// `08P01`
    pub const PROTOCOL_VIOLATION: SqlState = SqlState(*b"08P01");
    /// `09000`
    pub const TRIGGERED_ACTION_EXCEPTION: SqlState = SqlState(*b"09000");
    /// `0A000`
    pub const FEATURE_NOT_SUPPORTED: SqlState = SqlState(*b"0A000");
    /// `0B000`
    pub const INVALID_TRANSACTION_INITIATION: SqlState = SqlState(*b"0B000");
    /// `0F000`
    pub const LOCATOR_EXCEPTION: SqlState = SqlState(*b"0F000");
    /// `0F001`
    pub const L_E_INVALID_SPECIFICATION: SqlState = SqlState(*b"0F001");
    /// `0L000`
    pub const INVALID_GRANTOR: SqlState = SqlState(*b"0L000");
    /// `0LP01`
    pub const INVALID_GRANT_OPERATION: SqlState = SqlState(*b"0LP01");
    /// `0P000`
    pub const INVALID_ROLE_SPECIFICATION: SqlState = SqlState(*b"0P000");
    /// `0Z000`
    pub const DIAGNOSTICS_EXCEPTION: SqlState = SqlState(*b"0Z000");
    /// `0Z002`
    pub const STACKED_DIAGNOSTICS_ACCESSED_WITHOUT_ACTIVE_HANDLER: SqlState = SqlState(*b"0Z002");
    /// `10608`
    pub const INVALID_ARGUMENT_FOR_XQUERY: SqlState = SqlState(*b"10608");
    /// `20000`
    pub const CASE_NOT_FOUND: SqlState = SqlState(*b"20000");
    /// `21000`
    pub const CARDINALITY_VIOLATION: SqlState = SqlState(*b"21000");
    /// `22000`
    pub const DATA_EXCEPTION: SqlState = SqlState(*b"22000");
    /// `2202E`
    pub const ARRAY_ELEMENT_ERROR: SqlState = SqlState(*b"2202E");
    /// `2202E`
    pub const ARRAY_SUBSCRIPT_ERROR: SqlState = SqlState(*b"2202E");
    /// `22021`
    pub const CHARACTER_NOT_IN_REPERTOIRE: SqlState = SqlState(*b"22021");
    /// `22008`
    pub const DATETIME_FIELD_OVERFLOW: SqlState = SqlState(*b"22008");
    /// `22008`
    pub const DATETIME_VALUE_OUT_OF_RANGE: SqlState = SqlState(*b"22008");
    /// `22012`
    pub const DIVISION_BY_ZERO: SqlState = SqlState(*b"22012");
    /// `22005`
    pub const ERROR_IN_ASSIGNMENT: SqlState = SqlState(*b"22005");
    /// `2200B`
    pub const ESCAPE_CHARACTER_CONFLICT: SqlState = SqlState(*b"2200B");
    /// `22022`
    pub const INDICATOR_OVERFLOW: SqlState = SqlState(*b"22022");
    /// `22015`
    pub const INTERVAL_FIELD_OVERFLOW: SqlState = SqlState(*b"22015");
    /// `2201E`
    pub const INVALID_ARGUMENT_FOR_LOG: SqlState = SqlState(*b"2201E");
    /// `22014`
    pub const INVALID_ARGUMENT_FOR_NTILE: SqlState = SqlState(*b"22014");
    /// `22016`
    pub const INVALID_ARGUMENT_FOR_NTH_VALUE: SqlState = SqlState(*b"22016");
    /// `2201F`
    pub const INVALID_ARGUMENT_FOR_POWER_FUNCTION: SqlState = SqlState(*b"2201F");
    /// `2201G`
    pub const INVALID_ARGUMENT_FOR_WIDTH_BUCKET_FUNCTION: SqlState = SqlState(*b"2201G");
    /// `22018`
    pub const INVALID_CHARACTER_VALUE_FOR_CAST: SqlState = SqlState(*b"22018");
    /// `22007`
    pub const INVALID_DATETIME_FORMAT: SqlState = SqlState(*b"22007");
    /// `22019`
    pub const INVALID_ESCAPE_CHARACTER: SqlState = SqlState(*b"22019");
    /// `2200D`
    pub const INVALID_ESCAPE_OCTET: SqlState = SqlState(*b"2200D");
    /// `22025`
    pub const INVALID_ESCAPE_SEQUENCE: SqlState = SqlState(*b"22025");
    /// `22P06`
    pub const NONSTANDARD_USE_OF_ESCAPE_CHARACTER: SqlState = SqlState(*b"22P06");
    /// `22010`
    pub const INVALID_INDICATOR_PARAMETER_VALUE: SqlState = SqlState(*b"22010");
    /// `22023`
    pub const INVALID_PARAMETER_VALUE: SqlState = SqlState(*b"22023");
    /// `22013`
    pub const INVALID_PRECEDING_OR_FOLLOWING_SIZE: SqlState = SqlState(*b"22013");
    /// `2201B`
    pub const INVALID_REGULAR_EXPRESSION: SqlState = SqlState(*b"2201B");
    /// `2201W`
    pub const INVALID_ROW_COUNT_IN_LIMIT_CLAUSE: SqlState = SqlState(*b"2201W");
    /// `2201X`
    pub const INVALID_ROW_COUNT_IN_RESULT_OFFSET_CLAUSE: SqlState = SqlState(*b"2201X");
    /// `2202H`
    pub const INVALID_TABLESAMPLE_ARGUMENT: SqlState = SqlState(*b"2202H");
    /// `2202G`
    pub const INVALID_TABLESAMPLE_REPEAT: SqlState = SqlState(*b"2202G");
    /// `22009`
    pub const INVALID_TIME_ZONE_DISPLACEMENT_VALUE: SqlState = SqlState(*b"22009");
    /// `2200C`
    pub const INVALID_USE_OF_ESCAPE_CHARACTER: SqlState = SqlState(*b"2200C");
    /// `2200G`
    pub const MOST_SPECIFIC_TYPE_MISMATCH: SqlState = SqlState(*b"2200G");
    /// `22004`
    pub const NULL_VALUE_NOT_ALLOWED: SqlState = SqlState(*b"22004");
    /// `22002`
    pub const NULL_VALUE_NO_INDICATOR_PARAMETER: SqlState = SqlState(*b"22002");
    /// `22003`
    pub const NUMERIC_VALUE_OUT_OF_RANGE: SqlState = SqlState(*b"22003");
    /// `2200H`
    pub const SEQUENCE_GENERATOR_LIMIT_EXCEEDED: SqlState = SqlState(*b"2200H");
    /// `22026`
    pub const STRING_DATA_LENGTH_MISMATCH: SqlState = SqlState(*b"22026");
    /// `22001`
    pub const STRING_DATA_RIGHT_TRUNCATION: SqlState = SqlState(*b"22001");
    /// `22011`
    pub const SUBSTRING_ERROR: SqlState = SqlState(*b"22011");
    /// `22027`
    pub const TRIM_ERROR: SqlState = SqlState(*b"22027");
    /// `22024`
    pub const UNTERMINATED_C_STRING: SqlState = SqlState(*b"22024");
    /// `2200F`
    pub const ZERO_LENGTH_CHARACTER_STRING: SqlState = SqlState(*b"2200F");
    /// `22P01`
    pub const FLOATING_POINT_EXCEPTION: SqlState = SqlState(*b"22P01");
    /// `22P02`
    pub const INVALID_TEXT_REPRESENTATION: SqlState = SqlState(*b"22P02");
    /// `22P03`
    pub const INVALID_BINARY_REPRESENTATION: SqlState = SqlState(*b"22P03");
    /// `22P04`
    pub const BAD_COPY_FILE_FORMAT: SqlState = SqlState(*b"22P04");
    /// `22P05`
    pub const UNTRANSLATABLE_CHARACTER: SqlState = SqlState(*b"22P05");
    /// `2200L`
    pub const NOT_AN_XML_DOCUMENT: SqlState = SqlState(*b"2200L");
    /// `2200M`
    pub const INVALID_XML_DOCUMENT: SqlState = SqlState(*b"2200M");
    /// `2200N`
    pub const INVALID_XML_CONTENT: SqlState = SqlState(*b"2200N");
    /// `2200S`
    pub const INVALID_XML_COMMENT: SqlState = SqlState(*b"2200S");
    /// `2200T`
    pub const INVALID_XML_PROCESSING_INSTRUCTION: SqlState = SqlState(*b"2200T");
    /// `22030`
    pub const DUPLICATE_JSON_OBJECT_KEY_VALUE: SqlState = SqlState(*b"22030");
    /// `22031`
    pub const INVALID_ARGUMENT_FOR_SQL_JSON_DATETIME_FUNCTION: SqlState = SqlState(*b"22031");
    /// `22032`
    pub const INVALID_JSON_TEXT: SqlState = SqlState(*b"22032");
    /// `22033`
    pub const INVALID_SQL_JSON_SUBSCRIPT: SqlState = SqlState(*b"22033");
    /// `22034`
    pub const MORE_THAN_ONE_SQL_JSON_ITEM: SqlState = SqlState(*b"22034");
    /// `22035`
    pub const NO_SQL_JSON_ITEM: SqlState = SqlState(*b"22035");
    /// `22036`
    pub const NON_NUMERIC_SQL_JSON_ITEM: SqlState = SqlState(*b"22036");
    /// `22037`
    pub const NON_UNIQUE_KEYS_IN_A_JSON_OBJECT: SqlState = SqlState(*b"22037");
    /// `22038`
    pub const SINGLETON_SQL_JSON_ITEM_REQUIRED: SqlState = SqlState(*b"22038");
    /// `22039`
    pub const SQL_JSON_ARRAY_NOT_FOUND: SqlState = SqlState(*b"22039");
    /// `2203A`
    pub const SQL_JSON_MEMBER_NOT_FOUND: SqlState = SqlState(*b"2203A");
    /// `2203B`
    pub const SQL_JSON_NUMBER_NOT_FOUND: SqlState = SqlState(*b"2203B");
    /// `2203C`
    pub const SQL_JSON_OBJECT_NOT_FOUND: SqlState = SqlState(*b"2203C");
    /// `2203D`
    pub const TOO_MANY_JSON_ARRAY_ELEMENTS: SqlState = SqlState(*b"2203D");
    /// `2203E`
    pub const TOO_MANY_JSON_OBJECT_MEMBERS: SqlState = SqlState(*b"2203E");
    /// `2203F`
    pub const SQL_JSON_SCALAR_REQUIRED: SqlState = SqlState(*b"2203F");
    /// `2203G`
    pub const SQL_JSON_ITEM_CANNOT_BE_CAST_TO_TARGET_TYPE: SqlState = SqlState(*b"2203G");
    /// `23000`
    pub const INTEGRITY_CONSTRAINT_VIOLATION: SqlState = SqlState(*b"23000");
    /// `23001`
    pub const RESTRICT_VIOLATION: SqlState = SqlState(*b"23001");
    /// `23502`
    pub const NOT_NULL_VIOLATION: SqlState = SqlState(*b"23502");
    /// `23503`
    pub const FOREIGN_KEY_VIOLATION: SqlState = SqlState(*b"23503");
    /// `23505`
    pub const UNIQUE_VIOLATION: SqlState = SqlState(*b"23505");
    /// `23514`
    pub const CHECK_VIOLATION: SqlState = SqlState(*b"23514");
    /// `23P01`
    pub const EXCLUSION_VIOLATION: SqlState = SqlState(*b"23P01");
    /// `24000`
    pub const INVALID_CURSOR_STATE: SqlState = SqlState(*b"24000");
    /// `25000`
    pub const INVALID_TRANSACTION_STATE: SqlState = SqlState(*b"25000");
    /// `25001`
    pub const ACTIVE_SQL_TRANSACTION: SqlState = SqlState(*b"25001");
    /// `25002`
    pub const BRANCH_TRANSACTION_ALREADY_ACTIVE: SqlState = SqlState(*b"25002");
    /// `25008`
    pub const HELD_CURSOR_REQUIRES_SAME_ISOLATION_LEVEL: SqlState = SqlState(*b"25008");
    /// `25003`
    pub const INAPPROPRIATE_ACCESS_MODE_FOR_BRANCH_TRANSACTION: SqlState = SqlState(*b"25003");
    /// `25004`
    pub const INAPPROPRIATE_ISOLATION_LEVEL_FOR_BRANCH_TRANSACTION: SqlState = SqlState(*b"25004");
    /// `25005`
    pub const NO_ACTIVE_SQL_TRANSACTION_FOR_BRANCH_TRANSACTION: SqlState = SqlState(*b"25005");
    /// `25006`
    pub const READ_ONLY_SQL_TRANSACTION: SqlState = SqlState(*b"25006");
    /// `25007`
    pub const SCHEMA_AND_DATA_STATEMENT_MIXING_NOT_SUPPORTED: SqlState = SqlState(*b"25007");
    /// `25P01`
    pub const NO_ACTIVE_SQL_TRANSACTION: SqlState = SqlState(*b"25P01");
    /// `25P02`
    pub const IN_FAILED_SQL_TRANSACTION: SqlState = SqlState(*b"25P02");
    /// `25P03`
    pub const IDLE_IN_TRANSACTION_SESSION_TIMEOUT: SqlState = SqlState(*b"25P03");
    /// `25P04`
    pub const TRANSACTION_TIMEOUT: SqlState = SqlState(*b"25P04");
    /// `26000`
    pub const INVALID_SQL_STATEMENT_NAME: SqlState = SqlState(*b"26000");
    /// `27000`
    pub const TRIGGERED_DATA_CHANGE_VIOLATION: SqlState = SqlState(*b"27000");
    /// `28000`
    pub const INVALID_AUTHORIZATION_SPECIFICATION: SqlState = SqlState(*b"28000");
    /// `28P01`
    pub const INVALID_PASSWORD: SqlState = SqlState(*b"28P01");
    /// `2B000`
    pub const DEPENDENT_PRIVILEGE_DESCRIPTORS_STILL_EXIST: SqlState = SqlState(*b"2B000");
    /// `2BP01`
    pub const DEPENDENT_OBJECTS_STILL_EXIST: SqlState = SqlState(*b"2BP01");
    /// `2D000`
    pub const INVALID_TRANSACTION_TERMINATION: SqlState = SqlState(*b"2D000");
    /// `2F000`
    pub const SQL_ROUTINE_EXCEPTION: SqlState = SqlState(*b"2F000");
    /// `2F005`
    pub const S_R_E_FUNCTION_EXECUTED_NO_RETURN_STATEMENT: SqlState = SqlState(*b"2F005");
    /// `2F002`
    pub const S_R_E_MODIFYING_SQL_DATA_NOT_PERMITTED: SqlState = SqlState(*b"2F002");
    /// `2F003`
    pub const S_R_E_PROHIBITED_SQL_STATEMENT_ATTEMPTED: SqlState = SqlState(*b"2F003");
    /// `2F004`
    pub const S_R_E_READING_SQL_DATA_NOT_PERMITTED: SqlState = SqlState(*b"2F004");
    /// `34000`
    pub const INVALID_CURSOR_NAME: SqlState = SqlState(*b"34000");
    /// `38000`
    pub const EXTERNAL_ROUTINE_EXCEPTION: SqlState = SqlState(*b"38000");
    /// `38001`
    pub const E_R_E_CONTAINING_SQL_NOT_PERMITTED: SqlState = SqlState(*b"38001");
    /// `38002`
    pub const E_R_E_MODIFYING_SQL_DATA_NOT_PERMITTED: SqlState = SqlState(*b"38002");
    /// `38003`
    pub const E_R_E_PROHIBITED_SQL_STATEMENT_ATTEMPTED: SqlState = SqlState(*b"38003");
    /// `38004`
    pub const E_R_E_READING_SQL_DATA_NOT_PERMITTED: SqlState = SqlState(*b"38004");
    /// `39000`
    pub const EXTERNAL_ROUTINE_INVOCATION_EXCEPTION: SqlState = SqlState(*b"39000");
    /// `39001`
    pub const E_R_I_E_INVALID_SQLSTATE_RETURNED: SqlState = SqlState(*b"39001");
    /// `39004`
    pub const E_R_I_E_NULL_VALUE_NOT_ALLOWED: SqlState = SqlState(*b"39004");
    /// `39P01`
    pub const E_R_I_E_TRIGGER_PROTOCOL_VIOLATED: SqlState = SqlState(*b"39P01");
    /// `39P02`
    pub const E_R_I_E_SRF_PROTOCOL_VIOLATED: SqlState = SqlState(*b"39P02");
    /// `39P03`
    pub const E_R_I_E_EVENT_TRIGGER_PROTOCOL_VIOLATED: SqlState = SqlState(*b"39P03");
    /// `3B000`
    pub const SAVEPOINT_EXCEPTION: SqlState = SqlState(*b"3B000");
    /// `3B001`
    pub const S_E_INVALID_SPECIFICATION: SqlState = SqlState(*b"3B001");
    /// `3D000`
    pub const INVALID_CATALOG_NAME: SqlState = SqlState(*b"3D000");
    /// `3F000`
    pub const INVALID_SCHEMA_NAME: SqlState = SqlState(*b"3F000");
    /// `40000`
    pub const TRANSACTION_ROLLBACK: SqlState = SqlState(*b"40000");
    /// `40002`
    pub const T_R_INTEGRITY_CONSTRAINT_VIOLATION: SqlState = SqlState(*b"40002");
    /// `40001`
    pub const T_R_SERIALIZATION_FAILURE: SqlState = SqlState(*b"40001");
    /// `40003`
    pub const T_R_STATEMENT_COMPLETION_UNKNOWN: SqlState = SqlState(*b"40003");
    /// `40P01`
    pub const T_R_DEADLOCK_DETECTED: SqlState = SqlState(*b"40P01");
    /// `42000`
    pub const SYNTAX_ERROR_OR_ACCESS_RULE_VIOLATION: SqlState = SqlState(*b"42000");
    /// `42601`
    pub const SYNTAX_ERROR: SqlState = SqlState(*b"42601");
    /// `42501`
    pub const INSUFFICIENT_PRIVILEGE: SqlState = SqlState(*b"42501");
    /// `42846`
    pub const CANNOT_COERCE: SqlState = SqlState(*b"42846");
    /// `42803`
    pub const GROUPING_ERROR: SqlState = SqlState(*b"42803");
    /// `42P20`
    pub const WINDOWING_ERROR: SqlState = SqlState(*b"42P20");
    /// `42P19`
    pub const INVALID_RECURSION: SqlState = SqlState(*b"42P19");
    /// `42830`
    pub const INVALID_FOREIGN_KEY: SqlState = SqlState(*b"42830");
    /// `42602`
    pub const INVALID_NAME: SqlState = SqlState(*b"42602");
    /// `42622`
    pub const NAME_TOO_LONG: SqlState = SqlState(*b"42622");
    /// `42939`
    pub const RESERVED_NAME: SqlState = SqlState(*b"42939");
    /// `42804`
    pub const DATATYPE_MISMATCH: SqlState = SqlState(*b"42804");
    /// `42P18`
    pub const INDETERMINATE_DATATYPE: SqlState = SqlState(*b"42P18");
    /// `42P21`
    pub const COLLATION_MISMATCH: SqlState = SqlState(*b"42P21");
    /// `42P22`
    pub const INDETERMINATE_COLLATION: SqlState = SqlState(*b"42P22");
    /// `42809`
    pub const WRONG_OBJECT_TYPE: SqlState = SqlState(*b"42809");
    /// `428C9`
    pub const GENERATED_ALWAYS: SqlState = SqlState(*b"428C9");
    /// `42703`
    pub const UNDEFINED_COLUMN: SqlState = SqlState(*b"42703");
    /// `34000`
    pub const UNDEFINED_CURSOR: SqlState = SqlState(*b"34000");
    /// `3D000`
    pub const UNDEFINED_DATABASE: SqlState = SqlState(*b"3D000");
    /// `42883`
    pub const UNDEFINED_FUNCTION: SqlState = SqlState(*b"42883");
    /// `26000`
    pub const UNDEFINED_PSTATEMENT: SqlState = SqlState(*b"26000");
    /// `3F000`
    pub const UNDEFINED_SCHEMA: SqlState = SqlState(*b"3F000");
    /// `42P01`
    pub const UNDEFINED_TABLE: SqlState = SqlState(*b"42P01");
    /// `42P02`
    pub const UNDEFINED_PARAMETER: SqlState = SqlState(*b"42P02");
    /// `42704`
    pub const UNDEFINED_OBJECT: SqlState = SqlState(*b"42704");
    /// `42701`
    pub const DUPLICATE_COLUMN: SqlState = SqlState(*b"42701");
    /// `42P03`
    pub const DUPLICATE_CURSOR: SqlState = SqlState(*b"42P03");
    /// `42P04`
    pub const DUPLICATE_DATABASE: SqlState = SqlState(*b"42P04");
    /// `42723`
    pub const DUPLICATE_FUNCTION: SqlState = SqlState(*b"42723");
    /// `42P05`
    pub const DUPLICATE_PSTATEMENT: SqlState = SqlState(*b"42P05");
    /// `42P06`
    pub const DUPLICATE_SCHEMA: SqlState = SqlState(*b"42P06");
    /// `42P07`
    pub const DUPLICATE_TABLE: SqlState = SqlState(*b"42P07");
    /// `42712`
    pub const DUPLICATE_ALIAS: SqlState = SqlState(*b"42712");
    /// `42710`
    pub const DUPLICATE_OBJECT: SqlState = SqlState(*b"42710");
    /// `42702`
    pub const AMBIGUOUS_COLUMN: SqlState = SqlState(*b"42702");
    /// `42725`
    pub const AMBIGUOUS_FUNCTION: SqlState = SqlState(*b"42725");
    /// `42P08`
    pub const AMBIGUOUS_PARAMETER: SqlState = SqlState(*b"42P08");
    /// `42P09`
    pub const AMBIGUOUS_ALIAS: SqlState = SqlState(*b"42P09");
    /// `42P10`
    pub const INVALID_COLUMN_REFERENCE: SqlState = SqlState(*b"42P10");
    /// `42611`
    pub const INVALID_COLUMN_DEFINITION: SqlState = SqlState(*b"42611");
    /// `42P11`
    pub const INVALID_CURSOR_DEFINITION: SqlState = SqlState(*b"42P11");
    /// `42P12`
    pub const INVALID_DATABASE_DEFINITION: SqlState = SqlState(*b"42P12");
    /// `42P13`
    pub const INVALID_FUNCTION_DEFINITION: SqlState = SqlState(*b"42P13");
    /// `42P14`
    pub const INVALID_PSTATEMENT_DEFINITION: SqlState = SqlState(*b"42P14");
    /// `42P15`
    pub const INVALID_SCHEMA_DEFINITION: SqlState = SqlState(*b"42P15");
    /// `42P16`
    pub const INVALID_TABLE_DEFINITION: SqlState = SqlState(*b"42P16");
    /// `42P17`
    pub const INVALID_OBJECT_DEFINITION: SqlState = SqlState(*b"42P17");
    /// `44000`
    pub const WITH_CHECK_OPTION_VIOLATION: SqlState = SqlState(*b"44000");
    /// `53000`
    pub const INSUFFICIENT_RESOURCES: SqlState = SqlState(*b"53000");
    /// `53100`
    pub const DISK_FULL: SqlState = SqlState(*b"53100");
    /// `53200`
    pub const OUT_OF_MEMORY: SqlState = SqlState(*b"53200");
    /// `53300`
    pub const TOO_MANY_CONNECTIONS: SqlState = SqlState(*b"53300");
    /// `53400`
    pub const CONFIGURATION_LIMIT_EXCEEDED: SqlState = SqlState(*b"53400");
    /// `54000`
    pub const PROGRAM_LIMIT_EXCEEDED: SqlState = SqlState(*b"54000");
    /// `54001`
    pub const STATEMENT_TOO_COMPLEX: SqlState = SqlState(*b"54001");
    /// `54011`
    pub const TOO_MANY_COLUMNS: SqlState = SqlState(*b"54011");
    /// `54023`
    pub const TOO_MANY_ARGUMENTS: SqlState = SqlState(*b"54023");
    /// `55000`
    pub const OBJECT_NOT_IN_PREREQUISITE_STATE: SqlState = SqlState(*b"55000");
    /// `55006`
    pub const OBJECT_IN_USE: SqlState = SqlState(*b"55006");
    /// `55P02`
    pub const CANT_CHANGE_RUNTIME_PARAM: SqlState = SqlState(*b"55P02");
    /// `55P03`
    pub const LOCK_NOT_AVAILABLE: SqlState = SqlState(*b"55P03");
    /// `55P04`
    pub const UNSAFE_NEW_ENUM_VALUE_USAGE: SqlState = SqlState(*b"55P04");
    /// `57000`
    pub const OPERATOR_INTERVENTION: SqlState = SqlState(*b"57000");
    /// `57014`
    pub const QUERY_CANCELED: SqlState = SqlState(*b"57014");
    /// `57P01`
    pub const ADMIN_SHUTDOWN: SqlState = SqlState(*b"57P01");
    /// `57P02`
    pub const CRASH_SHUTDOWN: SqlState = SqlState(*b"57P02");
    /// `57P03`
    pub const CANNOT_CONNECT_NOW: SqlState = SqlState(*b"57P03");
    /// `57P04`
    pub const DATABASE_DROPPED: SqlState = SqlState(*b"57P04");
    /// `57P05`
    pub const IDLE_SESSION_TIMEOUT: SqlState = SqlState(*b"57P05");
    /// `58000`
    pub const SYSTEM_ERROR: SqlState = SqlState(*b"58000");
    /// `58030`
    pub const IO_ERROR: SqlState = SqlState(*b"58030");
    /// `58P01`
    pub const UNDEFINED_FILE: SqlState = SqlState(*b"58P01");
    /// `58P02`
    pub const DUPLICATE_FILE: SqlState = SqlState(*b"58P02");
    /// `58P03`
    pub const FILE_NAME_TOO_LONG: SqlState = SqlState(*b"58P03");
    /// `F0000`
    pub const CONFIG_FILE_ERROR: SqlState = SqlState(*b"F0000");
    /// `F0001`
    pub const LOCK_FILE_EXISTS: SqlState = SqlState(*b"F0001");
    /// `HV000`
    pub const FDW_ERROR: SqlState = SqlState(*b"HV000");
    /// `HV005`
    pub const FDW_COLUMN_NAME_NOT_FOUND: SqlState = SqlState(*b"HV005");
    /// `HV002`
    pub const FDW_DYNAMIC_PARAMETER_VALUE_NEEDED: SqlState = SqlState(*b"HV002");
    /// `HV010`
    pub const FDW_FUNCTION_SEQUENCE_ERROR: SqlState = SqlState(*b"HV010");
    /// `HV021`
    pub const FDW_INCONSISTENT_DESCRIPTOR_INFORMATION: SqlState = SqlState(*b"HV021");
    /// `HV024`
    pub const FDW_INVALID_ATTRIBUTE_VALUE: SqlState = SqlState(*b"HV024");
    /// `HV007`
    pub const FDW_INVALID_COLUMN_NAME: SqlState = SqlState(*b"HV007");
    /// `HV008`
    pub const FDW_INVALID_COLUMN_NUMBER: SqlState = SqlState(*b"HV008");
    /// `HV004`
    pub const FDW_INVALID_DATA_TYPE: SqlState = SqlState(*b"HV004");
    /// `HV006`
    pub const FDW_INVALID_DATA_TYPE_DESCRIPTORS: SqlState = SqlState(*b"HV006");
    /// `HV091`
    pub const FDW_INVALID_DESCRIPTOR_FIELD_IDENTIFIER: SqlState = SqlState(*b"HV091");
    /// `HV00B`
    pub const FDW_INVALID_HANDLE: SqlState = SqlState(*b"HV00B");
    /// `HV00C`
    pub const FDW_INVALID_OPTION_INDEX: SqlState = SqlState(*b"HV00C");
    /// `HV00D`
    pub const FDW_INVALID_OPTION_NAME: SqlState = SqlState(*b"HV00D");
    /// `HV090`
    pub const FDW_INVALID_STRING_LENGTH_OR_BUFFER_LENGTH: SqlState = SqlState(*b"HV090");
    /// `HV00A`
    pub const FDW_INVALID_STRING_FORMAT: SqlState = SqlState(*b"HV00A");
    /// `HV009`
    pub const FDW_INVALID_USE_OF_NULL_POINTER: SqlState = SqlState(*b"HV009");
    /// `HV014`
    pub const FDW_TOO_MANY_HANDLES: SqlState = SqlState(*b"HV014");
    /// `HV001`
    pub const FDW_OUT_OF_MEMORY: SqlState = SqlState(*b"HV001");
    /// `HV00P`
    pub const FDW_NO_SCHEMAS: SqlState = SqlState(*b"HV00P");
    /// `HV00J`
    pub const FDW_OPTION_NAME_NOT_FOUND: SqlState = SqlState(*b"HV00J");
    /// `HV00K`
    pub const FDW_REPLY_HANDLE: SqlState = SqlState(*b"HV00K");
    /// `HV00Q`
    pub const FDW_SCHEMA_NOT_FOUND: SqlState = SqlState(*b"HV00Q");
    /// `HV00R`
    pub const FDW_TABLE_NOT_FOUND: SqlState = SqlState(*b"HV00R");
    /// `HV00L`
    pub const FDW_UNABLE_TO_CREATE_EXECUTION: SqlState = SqlState(*b"HV00L");
    /// `HV00M`
    pub const FDW_UNABLE_TO_CREATE_REPLY: SqlState = SqlState(*b"HV00M");
    /// `HV00N`
    pub const FDW_UNABLE_TO_ESTABLISH_CONNECTION: SqlState = SqlState(*b"HV00N");
    /// `P0000`
    pub const PLPGSQL_ERROR: SqlState = SqlState(*b"P0000");
    /// `P0001`
    pub const RAISE_EXCEPTION: SqlState = SqlState(*b"P0001");
    /// `P0002`
    pub const NO_DATA_FOUND: SqlState = SqlState(*b"P0002");
    /// `P0003`
    pub const TOO_MANY_ROWS: SqlState = SqlState(*b"P0003");
    /// `P0004`
    pub const ASSERT_FAILURE: SqlState = SqlState(*b"P0004");
    /// `XX000`
    pub const INTERNAL_ERROR: SqlState = SqlState(*b"XX000");
    /// `XX001`
    pub const DATA_CORRUPTED: SqlState = SqlState(*b"XX001");
    /// `XX002`
    pub const INDEX_CORRUPTED: SqlState = SqlState(*b"XX002");
}

/// Each condition's code and name, by code and kind as in the list.
pub const CONDITIONS: &[(SqlState, &str)] = &[
    (SqlState(*b"00000"), "successful_completion"),
    (SqlState(*b"01000"), "warning"),
    (SqlState(*b"0100C"), "dynamic_result_sets_returned"),
    (SqlState(*b"01008"), "implicit_zero_bit_padding"),
    (SqlState(*b"01003"), "null_value_eliminated_in_set_function"),
    (SqlState(*b"01007"), "privilege_not_granted"),
    (SqlState(*b"01006"), "privilege_not_revoked"),
    (SqlState(*b"01004"), "string_data_right_truncation"),
    (SqlState(*b"01P01"), "deprecated_feature"),
    (SqlState(*b"02000"), "no_data"),
    (SqlState(*b"02001"), "no_additional_dynamic_result_sets_returned"),
    (SqlState(*b"03000"), "sql_statement_not_yet_complete"),
    (SqlState(*b"08000"), "connection_exception"),
    (SqlState(*b"08003"), "connection_does_not_exist"),
    (SqlState(*b"08006"), "connection_failure"),
    (SqlState(*b"08001"), "sqlclient_unable_to_establish_sqlconnection"),
    (SqlState(*b"08004"), "sqlserver_rejected_establishment_of_sqlconnection"),
    (SqlState(*b"08007"), "transaction_resolution_unknown"),
    (SqlState(*b"08P01"), "protocol_violation"),
    (SqlState(*b"09000"), "triggered_action_exception"),
    (SqlState(*b"0A000"), "feature_not_supported"),
    (SqlState(*b"0B000"), "invalid_transaction_initiation"),
    (SqlState(*b"0F000"), "locator_exception"),
    (SqlState(*b"0F001"), "invalid_locator_specification"),
    (SqlState(*b"0L000"), "invalid_grantor"),
    (SqlState(*b"0LP01"), "invalid_grant_operation"),
    (SqlState(*b"0P000"), "invalid_role_specification"),
    (SqlState(*b"0Z000"), "diagnostics_exception"),
    (SqlState(*b"0Z002"), "stacked_diagnostics_accessed_without_active_handler"),
    (SqlState(*b"10608"), "invalid_argument_for_xquery"),
    (SqlState(*b"20000"), "case_not_found"),
    (SqlState(*b"21000"), "cardinality_violation"),
    (SqlState(*b"22000"), "data_exception"),
    (SqlState(*b"2202E"), "array_subscript_error"),
    (SqlState(*b"22021"), "character_not_in_repertoire"),
    (SqlState(*b"22008"), "datetime_field_overflow"),
    (SqlState(*b"22012"), "division_by_zero"),
    (SqlState(*b"22005"), "error_in_assignment"),
    (SqlState(*b"2200B"), "escape_character_conflict"),
    (SqlState(*b"22022"), "indicator_overflow"),
    (SqlState(*b"22015"), "interval_field_overflow"),
    (SqlState(*b"2201E"), "invalid_argument_for_logarithm"),
    (SqlState(*b"22014"), "invalid_argument_for_ntile_function"),
    (SqlState(*b"22016"), "invalid_argument_for_nth_value_function"),
    (SqlState(*b"2201F"), "invalid_argument_for_power_function"),
    (SqlState(*b"2201G"), "invalid_argument_for_width_bucket_function"),
    (SqlState(*b"22018"), "invalid_character_value_for_cast"),
    (SqlState(*b"22007"), "invalid_datetime_format"),
    (SqlState(*b"22019"), "invalid_escape_character"),
    (SqlState(*b"2200D"), "invalid_escape_octet"),
    (SqlState(*b"22025"), "invalid_escape_sequence"),
    (SqlState(*b"22P06"), "nonstandard_use_of_escape_character"),
    (SqlState(*b"22010"), "invalid_indicator_parameter_value"),
    (SqlState(*b"22023"), "invalid_parameter_value"),
    (SqlState(*b"22013"), "invalid_preceding_or_following_size"),
    (SqlState(*b"2201B"), "invalid_regular_expression"),
    (SqlState(*b"2201W"), "invalid_row_count_in_limit_clause"),
    (SqlState(*b"2201X"), "invalid_row_count_in_result_offset_clause"),
    (SqlState(*b"2202H"), "invalid_tablesample_argument"),
    (SqlState(*b"2202G"), "invalid_tablesample_repeat"),
    (SqlState(*b"22009"), "invalid_time_zone_displacement_value"),
    (SqlState(*b"2200C"), "invalid_use_of_escape_character"),
    (SqlState(*b"2200G"), "most_specific_type_mismatch"),
    (SqlState(*b"22004"), "null_value_not_allowed"),
    (SqlState(*b"22002"), "null_value_no_indicator_parameter"),
    (SqlState(*b"22003"), "numeric_value_out_of_range"),
    (SqlState(*b"2200H"), "sequence_generator_limit_exceeded"),
    (SqlState(*b"22026"), "string_data_length_mismatch"),
    (SqlState(*b"22001"), "string_data_right_truncation"),
    (SqlState(*b"22011"), "substring_error"),
    (SqlState(*b"22027"), "trim_error"),
    (SqlState(*b"22024"), "unterminated_c_string"),
    (SqlState(*b"2200F"), "zero_length_character_string"),
    (SqlState(*b"22P01"), "floating_point_exception"),
    (SqlState(*b"22P02"), "invalid_text_representation"),
    (SqlState(*b"22P03"), "invalid_binary_representation"),
    (SqlState(*b"22P04"), "bad_copy_file_format"),
    (SqlState(*b"22P05"), "untranslatable_character"),
    (SqlState(*b"2200L"), "not_an_xml_document"),
    (SqlState(*b"2200M"), "invalid_xml_document"),
    (SqlState(*b"2200N"), "invalid_xml_content"),
    (SqlState(*b"2200S"), "invalid_xml_comment"),
    (SqlState(*b"2200T"), "invalid_xml_processing_instruction"),
    (SqlState(*b"22030"), "duplicate_json_object_key_value"),
    (SqlState(*b"22031"), "invalid_argument_for_sql_json_datetime_function"),
    (SqlState(*b"22032"), "invalid_json_text"),
    (SqlState(*b"22033"), "invalid_sql_json_subscript"),
    (SqlState(*b"22034"), "more_than_one_sql_json_item"),
    (SqlState(*b"22035"), "no_sql_json_item"),
    (SqlState(*b"22036"), "non_numeric_sql_json_item"),
    (SqlState(*b"22037"), "non_unique_keys_in_a_json_object"),
    (SqlState(*b"22038"), "singleton_sql_json_item_required"),
    (SqlState(*b"22039"), "sql_json_array_not_found"),
    (SqlState(*b"2203A"), "sql_json_member_not_found"),
    (SqlState(*b"2203B"), "sql_json_number_not_found"),
    (SqlState(*b"2203C"), "sql_json_object_not_found"),
    (SqlState(*b"2203D"), "too_many_json_array_elements"),
    (SqlState(*b"2203E"), "too_many_json_object_members"),
    (SqlState(*b"2203F"), "sql_json_scalar_required"),
    (SqlState(*b"2203G"), "sql_json_item_cannot_be_cast_to_target_type"),
    (SqlState(*b"23000"), "integrity_constraint_violation"),
    (SqlState(*b"23001"), "restrict_violation"),
    (SqlState(*b"23502"), "not_null_violation"),
    (SqlState(*b"23503"), "foreign_key_violation"),
    (SqlState(*b"23505"), "unique_violation"),
    (SqlState(*b"23514"), "check_violation"),
    (SqlState(*b"23P01"), "exclusion_violation"),
    (SqlState(*b"24000"), "invalid_cursor_state"),
    (SqlState(*b"25000"), "invalid_transaction_state"),
    (SqlState(*b"25001"), "active_sql_transaction"),
    (SqlState(*b"25002"), "branch_transaction_already_active"),
    (SqlState(*b"25008"), "held_cursor_requires_same_isolation_level"),
    (SqlState(*b"25003"), "inappropriate_access_mode_for_branch_transaction"),
    (SqlState(*b"25004"), "inappropriate_isolation_level_for_branch_transaction"),
    (SqlState(*b"25005"), "no_active_sql_transaction_for_branch_transaction"),
    (SqlState(*b"25006"), "read_only_sql_transaction"),
    (SqlState(*b"25007"), "schema_and_data_statement_mixing_not_supported"),
    (SqlState(*b"25P01"), "no_active_sql_transaction"),
    (SqlState(*b"25P02"), "in_failed_sql_transaction"),
    (SqlState(*b"25P03"), "idle_in_transaction_session_timeout"),
    (SqlState(*b"25P04"), "transaction_timeout"),
    (SqlState(*b"26000"), "invalid_sql_statement_name"),
    (SqlState(*b"27000"), "triggered_data_change_violation"),
    (SqlState(*b"28000"), "invalid_authorization_specification"),
    (SqlState(*b"28P01"), "invalid_password"),
    (SqlState(*b"2B000"), "dependent_privilege_descriptors_still_exist"),
    (SqlState(*b"2BP01"), "dependent_objects_still_exist"),
    (SqlState(*b"2D000"), "invalid_transaction_termination"),
    (SqlState(*b"2F000"), "sql_routine_exception"),
    (SqlState(*b"2F005"), "function_executed_no_return_statement"),
    (SqlState(*b"2F002"), "modifying_sql_data_not_permitted"),
    (SqlState(*b"2F003"), "prohibited_sql_statement_attempted"),
    (SqlState(*b"2F004"), "reading_sql_data_not_permitted"),
    (SqlState(*b"34000"), "invalid_cursor_name"),
    (SqlState(*b"38000"), "external_routine_exception"),
    (SqlState(*b"38001"), "containing_sql_not_permitted"),
    (SqlState(*b"38002"), "modifying_sql_data_not_permitted"),
    (SqlState(*b"38003"), "prohibited_sql_statement_attempted"),
    (SqlState(*b"38004"), "reading_sql_data_not_permitted"),
    (SqlState(*b"39000"), "external_routine_invocation_exception"),
    (SqlState(*b"39001"), "invalid_sqlstate_returned"),
    (SqlState(*b"39004"), "null_value_not_allowed"),
    (SqlState(*b"39P01"), "trigger_protocol_violated"),
    (SqlState(*b"39P02"), "srf_protocol_violated"),
    (SqlState(*b"39P03"), "event_trigger_protocol_violated"),
    (SqlState(*b"3B000"), "savepoint_exception"),
    (SqlState(*b"3B001"), "invalid_savepoint_specification"),
    (SqlState(*b"3D000"), "invalid_catalog_name"),
    (SqlState(*b"3F000"), "invalid_schema_name"),
    (SqlState(*b"40000"), "transaction_rollback"),
    (SqlState(*b"40002"), "transaction_integrity_constraint_violation"),
    (SqlState(*b"40001"), "serialization_failure"),
    (SqlState(*b"40003"), "statement_completion_unknown"),
    (SqlState(*b"40P01"), "deadlock_detected"),
    (SqlState(*b"42000"), "syntax_error_or_access_rule_violation"),
    (SqlState(*b"42601"), "syntax_error"),
    (SqlState(*b"42501"), "insufficient_privilege"),
    (SqlState(*b"42846"), "cannot_coerce"),
    (SqlState(*b"42803"), "grouping_error"),
    (SqlState(*b"42P20"), "windowing_error"),
    (SqlState(*b"42P19"), "invalid_recursion"),
    (SqlState(*b"42830"), "invalid_foreign_key"),
    (SqlState(*b"42602"), "invalid_name"),
    (SqlState(*b"42622"), "name_too_long"),
    (SqlState(*b"42939"), "reserved_name"),
    (SqlState(*b"42804"), "datatype_mismatch"),
    (SqlState(*b"42P18"), "indeterminate_datatype"),
    (SqlState(*b"42P21"), "collation_mismatch"),
    (SqlState(*b"42P22"), "indeterminate_collation"),
    (SqlState(*b"42809"), "wrong_object_type"),
    (SqlState(*b"428C9"), "generated_always"),
    (SqlState(*b"42703"), "undefined_column"),
    (SqlState(*b"42883"), "undefined_function"),
    (SqlState(*b"42P01"), "undefined_table"),
    (SqlState(*b"42P02"), "undefined_parameter"),
    (SqlState(*b"42704"), "undefined_object"),
    (SqlState(*b"42701"), "duplicate_column"),
    (SqlState(*b"42P03"), "duplicate_cursor"),
    (SqlState(*b"42P04"), "duplicate_database"),
    (SqlState(*b"42723"), "duplicate_function"),
    (SqlState(*b"42P05"), "duplicate_prepared_statement"),
    (SqlState(*b"42P06"), "duplicate_schema"),
    (SqlState(*b"42P07"), "duplicate_table"),
    (SqlState(*b"42712"), "duplicate_alias"),
    (SqlState(*b"42710"), "duplicate_object"),
    (SqlState(*b"42702"), "ambiguous_column"),
    (SqlState(*b"42725"), "ambiguous_function"),
    (SqlState(*b"42P08"), "ambiguous_parameter"),
    (SqlState(*b"42P09"), "ambiguous_alias"),
    (SqlState(*b"42P10"), "invalid_column_reference"),
    (SqlState(*b"42611"), "invalid_column_definition"),
    (SqlState(*b"42P11"), "invalid_cursor_definition"),
    (SqlState(*b"42P12"), "invalid_database_definition"),
    (SqlState(*b"42P13"), "invalid_function_definition"),
    (SqlState(*b"42P14"), "invalid_prepared_statement_definition"),
    (SqlState(*b"42P15"), "invalid_schema_definition"),
    (SqlState(*b"42P16"), "invalid_table_definition"),
    (SqlState(*b"42P17"), "invalid_object_definition"),
    (SqlState(*b"44000"), "with_check_option_violation"),
    (SqlState(*b"53000"), "insufficient_resources"),
    (SqlState(*b"53100"), "disk_full"),
    (SqlState(*b"53200"), "out_of_memory"),
    (SqlState(*b"53300"), "too_many_connections"),
    (SqlState(*b"53400"), "configuration_limit_exceeded"),
    (SqlState(*b"54000"), "program_limit_exceeded"),
    (SqlState(*b"54001"), "statement_too_complex"),
    (SqlState(*b"54011"), "too_many_columns"),
    (SqlState(*b"54023"), "too_many_arguments"),
    (SqlState(*b"55000"), "object_not_in_prerequisite_state"),
    (SqlState(*b"55006"), "object_in_use"),
    (SqlState(*b"55P02"), "cant_change_runtime_param"),
    (SqlState(*b"55P03"), "lock_not_available"),
    (SqlState(*b"55P04"), "unsafe_new_enum_value_usage"),
    (SqlState(*b"57000"), "operator_intervention"),
    (SqlState(*b"57014"), "query_canceled"),
    (SqlState(*b"57P01"), "admin_shutdown"),
    (SqlState(*b"57P02"), "crash_shutdown"),
    (SqlState(*b"57P03"), "cannot_connect_now"),
    (SqlState(*b"57P04"), "database_dropped"),
    (SqlState(*b"57P05"), "idle_session_timeout"),
    (SqlState(*b"58000"), "system_error"),
    (SqlState(*b"58030"), "io_error"),
    (SqlState(*b"58P01"), "undefined_file"),
    (SqlState(*b"58P02"), "duplicate_file"),
    (SqlState(*b"58P03"), "file_name_too_long"),
    (SqlState(*b"F0000"), "config_file_error"),
    (SqlState(*b"F0001"), "lock_file_exists"),
    (SqlState(*b"HV000"), "fdw_error"),
    (SqlState(*b"HV005"), "fdw_column_name_not_found"),
    (SqlState(*b"HV002"), "fdw_dynamic_parameter_value_needed"),
    (SqlState(*b"HV010"), "fdw_function_sequence_error"),
    (SqlState(*b"HV021"), "fdw_inconsistent_descriptor_information"),
    (SqlState(*b"HV024"), "fdw_invalid_attribute_value"),
    (SqlState(*b"HV007"), "fdw_invalid_column_name"),
    (SqlState(*b"HV008"), "fdw_invalid_column_number"),
    (SqlState(*b"HV004"), "fdw_invalid_data_type"),
    (SqlState(*b"HV006"), "fdw_invalid_data_type_descriptors"),
    (SqlState(*b"HV091"), "fdw_invalid_descriptor_field_identifier"),
    (SqlState(*b"HV00B"), "fdw_invalid_handle"),
    (SqlState(*b"HV00C"), "fdw_invalid_option_index"),
    (SqlState(*b"HV00D"), "fdw_invalid_option_name"),
    (SqlState(*b"HV090"), "fdw_invalid_string_length_or_buffer_length"),
    (SqlState(*b"HV00A"), "fdw_invalid_string_format"),
    (SqlState(*b"HV009"), "fdw_invalid_use_of_null_pointer"),
    (SqlState(*b"HV014"), "fdw_too_many_handles"),
    (SqlState(*b"HV001"), "fdw_out_of_memory"),
    (SqlState(*b"HV00P"), "fdw_no_schemas"),
    (SqlState(*b"HV00J"), "fdw_option_name_not_found"),
    (SqlState(*b"HV00K"), "fdw_reply_handle"),
    (SqlState(*b"HV00Q"), "fdw_schema_not_found"),
    (SqlState(*b"HV00R"), "fdw_table_not_found"),
    (SqlState(*b"HV00L"), "fdw_unable_to_create_execution"),
    (SqlState(*b"HV00M"), "fdw_unable_to_create_reply"),
    (SqlState(*b"HV00N"), "fdw_unable_to_establish_connection"),
    (SqlState(*b"P0000"), "plpgsql_error"),
    (SqlState(*b"P0001"), "raise_exception"),
    (SqlState(*b"P0002"), "no_data_found"),
    (SqlState(*b"P0003"), "too_many_rows"),
    (SqlState(*b"P0004"), "assert_failure"),
    (SqlState(*b"XX000"), "internal_error"),
    (SqlState(*b"XX001"), "data_corrupted"),
    (SqlState(*b"XX002"), "index_corrupted"),
];
